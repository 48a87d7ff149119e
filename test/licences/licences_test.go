package licences

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowed are the licences that a linked package may have: those that only require attribution, and the Mozilla Public
// License, whose conditions are limited to its files. The list excludes licences that require the source of the whole
// program, such as the GPL and the AGPL: a program with such a licence runs as a process of its own.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unicode-DFS-2016", "Unlicense"}

// chosen are the modules that offer a choice with an allowed licence, each with the line of its licence file that offers
// the choice.
var chosen = map[string]string{
	"kernel.org/pub/linux/libs/security/libcap/psx": "SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only",
}

// documentation are the modules with a file LICENSE.docs that covers only documents, which no program links, each with the
// line of its README that says so.
var documentation = map[string]string{
	"github.com/opencontainers/go-digest": "Code is released under the [Apache 2.0 license](LICENSE).",
}

func TestAllLinkedPackagesHaveAllowedLicences(t *testing.T) {
	packages, err := Linked(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 500 {
		t.Fatalf("the module links only %d packages of other modules", len(packages))
	}
	refused := map[string]bool{}
	for _, p := range packages {
		found, err := Of(p)
		if err != nil {
			refused[err.Error()] = true
		}
		for path, ids := range found {
			if line, ok := chosen[p.Module.Path]; ok && contains(t, path, line) {
				continue
			}
			readme := filepath.Join(filepath.Dir(path), "README.md")
			if line, ok := documentation[p.Module.Path]; ok && filepath.Base(path) == "LICENSE.docs" && contains(t, readme, line) {
				continue
			}
			for _, id := range ids {
				if !slices.Contains(allowed, id) {
					refused[path+": "+id+" is not allowed"] = true
				}
			}
		}
	}
	for _, problem := range slices.Sorted(maps.Keys(refused)) {
		t.Error(problem)
	}
}

// contains reports whether a file contains a text.
func contains(t *testing.T, path, text string) bool {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(content), text)
}

func TestLicencesAreRecognised(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		// ids are the wanted identifiers; says is a part of the wanted error, and ids is then "".
		ids, says string
	}{
		"a licence by its address":         {map[string]string{"LICENSE": "https://www.opensource.org/licenses/agpl-3.0\n"}, "AGPL-3.0", ""},
		"a licence of a folder of its own": {map[string]string{"LICENSE": isc, "inner/COPYING": "https://www.opensource.org/licenses/gpl-3.0\n"}, "GPL-3.0 ISC", ""},
		"the licence of the module":        {map[string]string{"LICENCE.md": isc}, "ISC", ""},
		"no licence":                       {map[string]string{"README.md": isc}, "", "has no licence"},
		"a text that is not a licence":     {map[string]string{"LICENSE": "All rights reserved. You may look at it.\n"}, "", "only 0% of it is a known licence"},
		"a licence with more conditions":   {map[string]string{"LICENSE": isc + strings.Repeat("And nobody may use it on Sundays or in space.\n", 40)}, "", "% of it is a known licence (ISC)"},
		"code about licences":              {map[string]string{"LICENSE": isc, "license.go": "package inner\n"}, "ISC", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := Package{ImportPath: "example.com/m/inner", Dir: filepath.Join(dir, "inner")}
			p.Module = &struct {
				Path, Version, Dir string
				Main               bool
			}{Path: "example.com/m", Dir: dir}
			if err := os.Mkdir(p.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for path, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			found, err := Of(p)
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("the error does not contain %q: %v, %v", test.says, err, found)
				}
				return
			}
			ids := slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(found))...)))
			if err != nil || strings.Join(ids, " ") != test.ids {
				t.Errorf("found %v (%v), want %s", ids, err, test.ids)
			}
		})
	}
}

const isc = `Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
`

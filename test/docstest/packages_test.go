package docstest_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/docstest"
)

const (
	architecturePage = "docs/architecture.md"
	module           = "github.com/strata-platform/strata/"
)

// mapped matches a row of the page's tables of packages.
var mapped = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^`\\s].*\\|$")

// folders returns the folders of the repository that contain Go code, of every module.
func folders(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, name := range files(t, ".go", "testdata") {
		if folder := path.Dir(name); !slices.Contains(found, folder) {
			found = append(found, folder)
		}
	}
	return found
}

func TestTheMapShowsEveryPackageOnce(t *testing.T) {
	_, tables, _ := strings.Cut(docstest.Read(t, architecturePage), "\n## Packages\n")
	tables, _, found := strings.Cut(tables, "\n## ")
	if !found {
		t.Fatalf("%s has no map of the packages", architecturePage)
	}
	var shown []string
	for _, match := range mapped.FindAllStringSubmatch(tables, -1) {
		if slices.Contains(shown, match[1]) {
			t.Errorf("%s contains %s twice", architecturePage, match[1])
		}
		shown = append(shown, match[1])
	}
	packages := folders(t)
	for _, folder := range packages {
		if !slices.Contains(shown, folder) {
			t.Errorf("%s does not contain the package %s", architecturePage, folder)
		}
	}
	for _, folder := range shown {
		if !slices.Contains(packages, folder) {
			t.Errorf("%s contains the package %s, which does not exist", architecturePage, folder)
		}
	}
}

// rows returns the table below a marker of the page: the name in the first column, with the names in the second.
func rows(t *testing.T, marker string) map[string][]string {
	t.Helper()
	_, table, _ := strings.Cut(docstest.Read(t, architecturePage), "<!-- "+marker+" -->\n")
	table, _, _ = strings.Cut(table, "\n\n")
	found := map[string][]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.Contains(cells[1], "`") {
			names := strings.Fields(strings.ReplaceAll(cells[2], "`", " "))
			found[strings.Trim(cells[1], " `")] = names
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no table of %s", architecturePage, marker)
	}
	return found
}

// pkg is a package in the output of `go list`.
type pkg struct {
	ImportPath    string
	Imports, Deps []string
}

// list returns packages of the repository from `go list`.
func list(t *testing.T, fields string, patterns ...string) []pkg {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json=" + fields}, patterns...)...)
	command.Dir = root
	command.Stderr = t.Output()
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// within reports whether a path is a folder or lies below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func TestPackagesImportOnlyAllowedPackages(t *testing.T) {
	rules := rows(t, "imports")
	used := map[string]bool{}
	for _, p := range list(t, "ImportPath,Imports", "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		rule := ""
		for folder := range rules {
			if within(name, folder) && len(folder) > len(rule) {
				rule = folder
			}
		}
		if rule == "" {
			t.Errorf("%s does not say what %s may import", architecturePage, name)
			continue
		}
		used[rule] = true
		for _, imported := range p.Imports {
			imported, ours := strings.CutPrefix(imported, module)
			may := func(folder string) bool { return within(imported, folder) }
			if ours && !within(imported, rule) && !slices.ContainsFunc(rules[rule], may) {
				t.Errorf("%s imports %s, but %s allows only %q", name, imported, architecturePage, rules[rule])
			}
		}
	}
	for folder := range rules {
		if !used[folder] {
			t.Errorf("%s has a rule for %s, which has no packages", architecturePage, folder)
		}
	}
}

func TestProgramsHaveNoForbiddenDependencies(t *testing.T) {
	for program, without := range rows(t, "links") {
		packages := list(t, "ImportPath,Deps", "./"+program)
		if len(packages) != 1 || len(packages[0].Deps) == 0 {
			t.Errorf("%s names the program %s, which is %v", architecturePage, program, packages)
			continue
		}
		for _, dep := range packages[0].Deps {
			folder, ours := strings.CutPrefix(dep, module)
			for _, refused := range without {
				// The path of another module begins with a host.
				host, _, _ := strings.Cut(refused, "/")
				if ours != strings.Contains(host, ".") && within(folder, refused) {
					t.Errorf("%s contains %s", program, dep)
				}
			}
		}
	}
}

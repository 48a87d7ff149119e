package docstest_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/test/docstest"
)

// mostLines is the maximum number of lines of a file with code. A longer file has several subjects.
const mostLines = 250

func TestFilesAreShort(t *testing.T) {
	for _, name := range files(t, ".go", "testdata") {
		// controller-gen writes the files that begin with zz_generated. The tools are modules that others release.
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(path.Base(name), "zz_generated.") || strings.HasPrefix(name, "tools/") {
			continue
		}
		if lines := strings.Count(docstest.Read(t, name), "\n"); lines > mostLines {
			t.Errorf("%s has %d lines: move a subject to a file of its own (at most %d)", name, lines, mostLines)
		}
	}
}

// TestFoldersDoNotImportInCircles looks at each folder as a room whose parts are its subfolders and its own package. Go
// forbids only circles of packages, so two subfolders could import each other through different packages.
func TestFoldersDoNotImportInCircles(t *testing.T) {
	// imports maps each folder to the imports between its parts.
	imports := map[string]map[string]map[string]bool{}
	for _, p := range list(t, "", "ImportPath,Imports", "./...") {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			folder := common(from, to)
			if imports[folder] == nil {
				imports[folder] = map[string]map[string]bool{}
			}
			part := partOf(folder, from)
			if imports[folder][part] == nil {
				imports[folder][part] = map[string]bool{}
			}
			imports[folder][part][partOf(folder, to)] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(imports)) {
		if found := circle(imports[folder]); found != nil {
			t.Errorf("in %q these import each other: %s", folder, strings.Join(found, " -> "))
		}
	}
}

// common returns the deepest folder that contains two packages.
func common(a, b string) string {
	for !within(b, a) {
		if a = path.Dir(a); a == "." {
			return ""
		}
	}
	return a
}

// partOf returns the part of a folder that contains a package: a subfolder, or "." for the folder's own package. The
// subfolders of the repository's internal are parts of the repository: internal only hides them from other modules.
func partOf(folder, name string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(name, folder), "/")
	hidden := ""
	if inner, is := strings.CutPrefix(rest, "internal/"); is && folder == "" {
		hidden, rest = "internal/", inner
	}
	first, _, _ := strings.Cut(rest, "/")
	if first == "" {
		return "."
	}
	return hidden + first
}

// circle returns parts that import each other, or nil.
func circle(imports map[string]map[string]bool) []string {
	done := map[string]bool{}
	var trail []string
	var visit func(string) []string
	visit = func(part string) []string {
		if i := slices.Index(trail, part); i >= 0 {
			return append(slices.Clone(trail[i:]), part)
		}
		if done[part] {
			return nil
		}
		trail = append(trail, part)
		for _, next := range slices.Sorted(maps.Keys(imports[part])) {
			if found := visit(next); found != nil {
				return found
			}
		}
		trail = trail[:len(trail)-1]
		done[part] = true
		return nil
	}
	for _, part := range slices.Sorted(maps.Keys(imports)) {
		if found := visit(part); found != nil {
			return found
		}
	}
	return nil
}

func TestCirclesAreFound(t *testing.T) {
	for want, imports := range map[string]map[string]map[string]bool{
		"[]":        {"a": {"b": true}, "b": {"c": true}, ".": {"a": true}},
		"[a b c a]": {"a": {"b": true}, "b": {"c": true}, "c": {"a": true}},
		"[b b]":     {"b": {"b": true}},
	} {
		if got := fmt.Sprint(circle(imports)); got != want {
			t.Errorf("%v: got %s, want %s", imports, got, want)
		}
	}
}

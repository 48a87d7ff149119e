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

// mostPackageLines is the maximum number of lines of a package: about 1500. A larger package has several subjects.
const mostPackageLines = 1600

// largePackages maps the packages that are larger to the reasons. There is none.
var largePackages = map[string]string{}

// codeFiles returns the Go files that people write, except tests.
func codeFiles(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(files(t, ".go", "testdata"), func(name string) bool {
		// The tools are modules that others release.
		return strings.HasSuffix(name, "_test.go") || isGenerated(name, docstest.Read(t, name)) || strings.HasPrefix(name, "tools/")
	})
}

func TestFilesAreShort(t *testing.T) {
	for _, name := range codeFiles(t) {
		if lines := strings.Count(docstest.Read(t, name), "\n"); lines > mostLines {
			t.Errorf("%s has %d lines: move a subject to a file of its own (at most %d)", name, lines, mostLines)
		}
	}
}

func TestPackagesAreSmall(t *testing.T) {
	lines := map[string]int{}
	for _, name := range codeFiles(t) {
		lines[path.Dir(name)] += strings.Count(docstest.Read(t, name), "\n")
	}
	for _, problem := range sizeProblems(lines, largePackages) {
		t.Error(problem)
	}
}

// sizeProblems returns the packages with too many lines, and the exceptions that no package needs or that have no reason.
func sizeProblems(lines map[string]int, exceptions map[string]string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if _, excepted := exceptions[name]; !excepted && lines[name] > mostPackageLines {
			problems = append(problems, fmt.Sprintf("%s has %d lines: move a subject to a package of its own (at most %d)", name, lines[name], mostPackageLines))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(exceptions)) {
		if lines[name] <= mostPackageLines {
			problems = append(problems, fmt.Sprintf("%s has %d lines: remove its exception", name, lines[name]))
		}
		if exceptions[name] == "" {
			problems = append(problems, name+" is an exception without a reason")
		}
	}
	return problems
}

func TestSizeProblemsAreFound(t *testing.T) {
	for want, test := range map[string]struct {
		lines      map[string]int
		exceptions map[string]string
	}{
		"[]": {map[string]int{"a": mostPackageLines, "b": mostPackageLines + 1}, map[string]string{"b": "a reason"}},
		"[a has 1601 lines: move a subject to a package of its own (at most 1600)]": {map[string]int{"a": mostPackageLines + 1}, nil},
		"[a has 1600 lines: remove its exception]":                                  {map[string]int{"a": mostPackageLines}, map[string]string{"a": "a reason"}},
		"[a has 0 lines: remove its exception]":                                     {nil, map[string]string{"a": "a reason"}},
		"[a is an exception without a reason]":                                      {map[string]int{"a": mostPackageLines + 1}, map[string]string{"a": ""}},
	} {
		if got := fmt.Sprint(sizeProblems(test.lines, test.exceptions)); got != want {
			t.Errorf("%v: got %s, want %s", test, got, want)
		}
	}
}

// TestFoldersDoNotImportInCircles looks at each folder as a room whose parts are its subfolders and its own package. Go
// forbids only circles of packages, so two subfolders could import each other through different packages.
func TestFoldersDoNotImportInCircles(t *testing.T) {
	// imports maps each folder to the imports between its parts.
	imports := map[string]map[string]map[string]bool{}
	add := func(folder, from, to string) {
		if imports[folder] == nil {
			imports[folder] = map[string]map[string]bool{}
		}
		if imports[folder][from] == nil {
			imports[folder][from] = map[string]bool{}
		}
		imports[folder][from][to] = true
	}
	for _, system := range systems {
		for _, p := range list(t, system, "ImportPath,Imports", "./...") {
			from := strings.TrimPrefix(p.ImportPath, module)
			for _, imported := range p.Imports {
				if to, ours := strings.CutPrefix(imported, module); ours {
					folder := common(from, to)
					add(folder, partOf(folder, from), partOf(folder, to))
				}
			}
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

package docstest_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/docstest"
)

// TestMakeTargetsInTheDocsExist checks every `make` in prose and in indented code.
func TestMakeTargetsInTheDocsExist(t *testing.T) {
	var targets []string
	for _, match := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(docstest.Read(t, "Makefile"), -1) {
		targets = append(targets, match[1])
	}
	for _, page := range pages(t) {
		for _, match := range regexp.MustCompile("(?m)(?:`|^ {4})make ([a-z-]+)").FindAllStringSubmatch(docstest.Read(t, page), -1) {
			if !slices.Contains(targets, match[1]) {
				t.Errorf("%s: the Makefile has no target %s", page, match[1])
			}
		}
	}
}

// TestGoTestsInTheDocsExist checks every `go test` in prose: the package, and the test that -run names. TestX stands
// for any test. A command for a package with long tests has to name one, because it skips them otherwise.
func TestGoTestsInTheDocsExist(t *testing.T) {
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages(t) {
		for _, match := range regexp.MustCompile("`go test ([^`]+)`").FindAllStringSubmatch(docstest.Read(t, page), -1) {
			found++
			var folder, test string
			words := strings.Fields(match[1])
			for i, word := range words {
				switch {
				case strings.HasPrefix(word, "./"):
					folder = path.Clean(word)
				case word == "-run" && i+1 < len(words):
					test, _, _ = strings.Cut(words[i+1], "/")
				}
			}
			sources, err := fs.Glob(os.DirFS(root), folder+"/*_test.go")
			if err != nil || len(sources) == 0 {
				t.Errorf("%s: `go test %s`: %q contains no tests", page, match[1], folder)
			}
			isLong := func(source string) bool { return strings.Contains(docstest.Read(t, source), "\tlong.Test(t)") }
			if test == "" && slices.ContainsFunc(sources, isLong) {
				t.Errorf("%s: `go test %s` skips the long tests of %s: name one with -run", page, match[1], folder)
			}
			defines := func(source string) bool { return strings.Contains(docstest.Read(t, source), "\nfunc "+test+"(") }
			if test != "" && test != "TestX" && !slices.ContainsFunc(sources, defines) {
				t.Errorf("%s: `go test %s`: %s has no test %s", page, match[1], folder, test)
			}
		}
	}
	if found == 0 {
		t.Error("the docs contain no call of go test")
	}
}

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

const namesPage = "docs/reference/names.md"

// reference matches a package and names in it, in the form of the table's cells.
var reference = regexp.MustCompile("`([a-z][a-z0-9/]*)` `(\\w+)`(?:, `(\\w+)`)?")

// TestEveryNameOfATeamHasACheckAndATest verifies that the checks and tests in the table exist, and that each of its fuzz
// targets has a corpus.
func TestEveryNameOfATeamHasACheckAndATest(t *testing.T) {
	_, table, _ := strings.Cut(docstest.Read(t, namesPage), "<!-- names -->\n")
	table, _, _ = strings.Cut(table, "<!-- end of names -->")
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	files := os.DirFS(root)
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || strings.HasPrefix(line, "|--") || strings.Contains(line, "| name |") {
			continue
		}
		rows++
		for _, match := range reference.FindAllStringSubmatch(cells[3], -1) {
			for _, name := range match[2:] {
				if name != "" && !defined(t, files, match[1], name, false) {
					t.Errorf("%s: %s has no %s", namesPage, match[1], name)
				}
			}
		}
		tests := reference.FindAllStringSubmatch(cells[5], -1)
		if len(tests) == 0 {
			t.Errorf("%s: no test covers this:%s", namesPage, cells[1])
		}
		for _, match := range tests {
			if !defined(t, files, match[1], match[2], true) {
				t.Errorf("%s: %s has no test %s", namesPage, match[1], match[2])
			}
			if corpus, _ := fs.Glob(files, match[1]+"/testdata/fuzz/"+match[2]+"/*"); strings.HasPrefix(match[2], "Fuzz") && len(corpus) == 0 {
				t.Errorf("%s: %s has no corpus of %s", namesPage, match[1], match[2])
			}
		}
	}
	if rows == 0 {
		t.Fatalf("%s has no table of names", namesPage)
	}
}

// defined reports whether the Go or YAML files of a folder define a name: its tests, or the other files.
func defined(t *testing.T, files fs.FS, folder, name string, tests bool) bool {
	t.Helper()
	// A function or method, a variable, a rule of a policy, or a call of a function of another package.
	return regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `\(|^\s*(var )?` + name + `\s+= |- name: ` + name + `$|\.` + name + `\(`).
		MatchString(source(t, files, folder, tests))
}

// source returns the text of a folder's tests, or of its other files.
func source(t *testing.T, files fs.FS, folder string, tests bool) string {
	t.Helper()
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, entry := range entries {
		if slices.Contains([]string{".go", ".yaml"}, path.Ext(entry.Name())) && strings.HasSuffix(entry.Name(), "_test.go") == tests {
			text.WriteString(docstest.Read(t, folder+"/"+entry.Name()))
		}
	}
	return text.String()
}

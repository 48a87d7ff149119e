package attack

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/docstest"
)

const securityPage = "docs/security.md"

func TestThePageNamesTestsThatExist(t *testing.T) {
	declared := declaredTests(t)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(docstest.Read(t, securityPage), -1)
	if len(named) == 0 {
		t.Error("the page contains no name of a test")
	}
	for _, test := range named {
		if !declared[test[1]] {
			t.Errorf("%s names %s, which does not exist", securityPage, test[1])
		}
	}
}

// declaredTests returns the names of all tests of the repository.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	found := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		for _, test := range declaration.FindAllStringSubmatch(string(content), -1) {
			found[test[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestThePageHasEveryClass(t *testing.T) {
	_, rest, _ := strings.Cut(docstest.Read(t, securityPage), "<!-- classes -->\n")
	table, _, _ := strings.Cut(rest, "<!-- end of classes -->")
	for _, a := range attacks() {
		row, by := fmt.Sprintf("\n| %d | ", a.class), strings.TrimPrefix(a.as, "the team's ")
		_, row, found := strings.Cut(table, row)
		row, _, _ = strings.Cut(row, "\n")
		if !found || !strings.Contains(row, by) {
			t.Errorf("%s: class %d has no row with the means %s", securityPage, a.class, a.as)
		}
	}
}

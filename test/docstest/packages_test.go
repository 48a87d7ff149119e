package docstest_test

import (
	"encoding/json"
	"errors"
	"fmt"
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

// row matches a row of the tables of imports and links: names in backquotes.
var row = regexp.MustCompile("^\\| `([^`\\s]+)` \\|((?: `[^`\\s]+`)*) \\|$")

// table returns the table below a marker of the page.
func table(t *testing.T, marker string) string {
	t.Helper()
	_, table, found := strings.Cut(docstest.Read(t, architecturePage), "<!-- "+marker+" -->\n")
	if !found {
		t.Fatalf("%s has no table of %s", architecturePage, marker)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	return table
}

// rows returns the rows of a table: the name in the first column, with the names in the second. The first two lines are
// the header. An unreadable or repeated row is a problem, because it would allow or check nothing.
func rows(table string) (found map[string][]string, problems []string) {
	found = map[string][]string{}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for _, line := range lines[min(2, len(lines)):] {
		match := row.FindStringSubmatch(line)
		if match == nil {
			problems = append(problems, fmt.Sprintf("the row %q is not of the form | `name` | `name` `name` |", line))
			continue
		}
		if _, again := found[match[1]]; again {
			problems = append(problems, fmt.Sprintf("%s has two rows", match[1]))
		}
		found[match[1]] = strings.Fields(strings.ReplaceAll(match[2], "`", " "))
	}
	if len(found) == 0 {
		problems = append(problems, "the table has no rows")
	}
	return found, problems
}

// pkg is a package in the output of `go list`.
type pkg struct {
	ImportPath    string
	Imports, Deps []string
}

// list returns packages of the repository from `go list`, as built for an operating system; "" is this one.
func list(t *testing.T, system, fields string, patterns ...string) []pkg {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json=" + fields}, patterns...)...)
	command.Dir = root
	if system != "" {
		command.Env = append(command.Environ(), "GOOS="+system)
	}
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

// exported is the folder of test that others use too: the command line runs the suite, and other modules may import it.
const exported = "test/conformance"

func TestProgramsHaveNoForbiddenDependencies(t *testing.T) {
	programs, problems := rows(table(t, "links"))
	for _, problem := range problems {
		t.Errorf("%s: %s", architecturePage, problem)
	}
	for program, without := range programs {
		packages := list(t, "", "ImportPath,Deps", "./"+program)
		if len(packages) != 1 || len(packages[0].Deps) == 0 {
			t.Errorf("%s names the program %s, which is %v", architecturePage, program, packages)
			continue
		}
		for _, dep := range packages[0].Deps {
			folder, ours := strings.CutPrefix(dep, module)
			for _, refused := range without {
				// The path of another module begins with a host.
				host, _, _ := strings.Cut(refused, "/")
				if ours != strings.Contains(host, ".") && within(folder, refused) && !within(folder, exported) {
					t.Errorf("%s contains %s", program, dep)
				}
			}
		}
	}
}

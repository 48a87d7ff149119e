package docstest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// importTable is the marker of the table of allowed imports.
const importTable = "imports"

// systems are the operating systems that Strata is built for. Some files, and their imports, are for one of them.
var systems = []string{"linux", "darwin"}

func TestPackagesImportExactlyTheAllowedPackages(t *testing.T) {
	imports := map[string][]string{}
	for _, system := range systems {
		for _, p := range list(t, system, "ImportPath,Imports", "./...") {
			name := strings.TrimPrefix(p.ImportPath, module)
			imports[name] = append(imports[name], ourImports(p)...)
		}
	}
	for _, problem := range importProblems(table(t, importTable), imports) {
		t.Errorf("%s: %s", architecturePage, problem)
	}
}

// ourImports returns the imports of a package that are packages of this repository, without the module's path.
func ourImports(p pkg) []string {
	var found []string
	for _, imported := range p.Imports {
		if name, ours := strings.CutPrefix(imported, module); ours {
			found = append(found, name)
		}
	}
	return found
}

// importProblems compares a table of allowed imports with the imports of each package. Each returned problem is a
// forbidden import, or an inexact row: an allowance that no governed package needs would hide a later import.
func importProblems(table string, imports map[string][]string) []string {
	rules, problems := rows(table)
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	// governed maps each row to its packages, and used maps each allowance of each row to the imports that it covers.
	governed := map[string][]string{}
	used := map[string]map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		rule := ruleOf(rules, name)
		if rule == "" {
			report("no row governs %s", name)
			continue
		}
		governed[rule] = append(governed[rule], name)
		for _, imported := range unique(imports[name]) {
			allowed := false
			for _, allowance := range rules[rule] {
				if covers(allowance, imported) {
					allowed = true
					if used[rule] == nil {
						used[rule] = map[string][]string{}
					}
					used[rule][allowance] = append(used[rule][allowance], imported)
				}
			}
			if !allowed {
				report("%s imports %s, which the row of %s does not allow", name, imported, rule)
			}
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		if len(governed[rule]) == 0 {
			report("the row of %s governs no package: remove the row", rule)
			continue
		}
		if one := governed[rule][0]; wide(rule) && len(governed[rule]) == 1 {
			report("the row of %s governs only %s: write %s", rule, one, one)
		}
		for i, allowance := range rules[rule] {
			needed := unique(used[rule][allowance])
			switch {
			case len(needed) == 0:
				report("the row of %s allows %s, which none of its packages imports: remove it", rule, allowance)
			case wide(allowance) && len(needed) == 1:
				report("the row of %s allows %s, but its packages import only %s: write %s", rule, allowance, needed[0], needed[0])
			}
			for j, other := range rules[rule] {
				if i != j && covers(other, strings.TrimSuffix(allowance, "/...")) && (wide(other) || !wide(allowance)) {
					report("the row of %s allows %s twice: also as %s", rule, allowance, other)
				}
			}
		}
	}
	return problems
}

// ruleOf returns the most specific row for a package: the row with its name, or else the one with the longest path. It
// returns "" if there is none.
func ruleOf(rules map[string][]string, name string) string {
	if _, found := rules[name]; found {
		return name
	}
	longest := ""
	for rule := range rules {
		if covers(rule, name) && len(rule) > len(longest) {
			longest = rule
		}
	}
	return longest
}

// covers reports whether a name of the table stands for a package: as in the go command, folder/... stands for the folder
// and all packages below it.
func covers(pattern, name string) bool {
	folder, all := strings.CutSuffix(pattern, "/...")
	return pattern == name || all && within(name, folder)
}

// wide reports whether a name of the table stands for all packages below a folder.
func wide(pattern string) bool { return strings.HasSuffix(pattern, "/...") }

// unique returns sorted names without repetitions.
func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

func TestImportTableIsExact(t *testing.T) {
	imports := map[string][]string{"a": {"b", "b/c", "b"}, "a/x": {"b/c"}, "b": nil, "b/c": nil}
	const header = "| packages | may import |\n|---|---|\n"
	for name, test := range map[string]struct {
		rows, want string
	}{
		"the exact table passes": {
			rows: "| `a` | `b` `b/c` |\n| `a/x` | `b/c` |\n| `b/...` | |",
		},
		"the row of a folder passes if its packages need all of an allowed folder": {
			rows: "| `a/...` | `b/...` |\n| `b/...` | |",
		},
		"the row of a package wins over the row of its folder": {
			rows: "| `a` | `b/...` |\n| `a/...` | `b/c` |\n| `b/...` | |",
			want: "the row of a/... governs only a/x: write a/x",
		},
		"a forbidden import fails": {
			rows: "| `a` | `b` |\n| `a/x` | `b/c` |\n| `b/...` | |",
			want: "a imports b/c, which the row of a does not allow",
		},
		"a name does not stand for the packages below it": {
			rows: "| `a/...` | `b` |\n| `b/...` | |",
			want: "a imports b/c, which the row of a/... does not allow\na/x imports b/c, which the row of a/... does not allow",
		},
		"a package without a row fails": {
			rows: "| `a` | `b/...` |\n| `b/...` | |",
			want: "no row governs a/x",
		},
		"an unused allowance fails": {
			rows: "| `a` | `b/...` |\n| `a/x` | `b` `b/c` |\n| `b/...` | |",
			want: "the row of a/x allows b, which none of its packages imports: remove it",
		},
		"an allowance for the packages of its own folder fails if unused": {
			rows: "| `a/...` | `a/...` `b/...` |\n| `b/...` | |",
			want: "the row of a/... allows a/..., which none of its packages imports: remove it",
		},
		"an allowance for a package that does not exist fails": {
			rows: "| `a/...` | `b/...` `d` |\n| `b/...` | |",
			want: "the row of a/... allows d, which none of its packages imports: remove it",
		},
		"an allowance for a whole folder fails if only one package is needed": {
			rows: "| `a` | `b/...` |\n| `a/x` | `b/...` |\n| `b/...` | |",
			want: "the row of a/x allows b/..., but its packages import only b/c: write b/c",
		},
		"an allowance inside another fails": {
			rows: "| `a` | `b/...` `b/c` |\n| `a/x` | `b/c` |\n| `b/...` | |",
			want: "the row of a allows b/c twice: also as b/...",
		},
		"a row without packages fails": {
			rows: "| `a/...` | `b/...` |\n| `b/...` | |\n| `d` | |",
			want: "the row of d governs no package: remove the row",
		},
		"two rows for one name fail": {
			rows: "| `a/...` | `b/...` |\n| `b/...` | |\n| `b/...` | |",
			want: "b/... has two rows",
		},
		"an unreadable row fails": {
			rows: "| `a/...` | `b/...` |\n| `b/...` | |\n| c | `b` |",
			want: "the row \"| c | `b` |\" is not of the form | `name` | `name` `name` |",
		},
		"an empty table fails": {
			want: "the table has no rows\nno row governs a\nno row governs a/x\nno row governs b\nno row governs b/c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(importProblems(header+test.rows, imports), "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

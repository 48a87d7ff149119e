//go:build linux

package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// differences compares the messages of failed tests by name, "" for a passed one, with the known failures, parts of names. It
// returns the number of passed tests and one line for each difference. With whole, the results are those of all tests, so each
// known failure must be among them.
func differences(results map[string]string, known []string, whole bool) (passed int, problems []string) {
	for _, name := range slices.Sorted(maps.Keys(results)) {
		message := results[name]
		if message == "" {
			passed++
		}
		switch listed := slices.ContainsFunc(known, func(k string) bool { return strings.Contains(name, k) }); {
		case message == "" && listed:
			problems = append(problems, fmt.Sprintf("%s passes: remove it from testdata/known and docs/reference/local-node.md", name))
		case message != "" && !listed:
			problems = append(problems, fmt.Sprintf("%s fails: %s", name, message))
		}
	}
	for _, k := range known {
		if whole && !slices.ContainsFunc(slices.Collect(maps.Keys(results)), func(name string) bool { return strings.Contains(name, k) }) {
			problems = append(problems, fmt.Sprintf("no test has the name %q: correct testdata/known and docs/reference/local-node.md", k))
		}
	}
	return passed, problems
}

func TestDifferencesFromTheKnownFailuresAreProblems(t *testing.T) {
	results := map[string]string{"Pods run": "", "Pods end": "timeout", "DNS answers": ""}
	for name, test := range map[string]struct {
		known []string
		whole bool
		want  []string
	}{
		"a failure that is not listed": {nil, true, []string{"Pods end fails: timeout"}},
		"a listed failure":             {[]string{"Pods end"}, true, nil},
		"a listed test that passes": {[]string{"Pods"}, true,
			[]string{"Pods run passes: remove it from testdata/known and docs/reference/local-node.md"}},
		"a line that names no test": {[]string{"Pods end", "Leases"}, true,
			[]string{`no test has the name "Leases": correct testdata/known and docs/reference/local-node.md`}},
		"a line for a test that did not run": {[]string{"Pods end", "Leases"}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			passed, problems := differences(results, test.known, test.whole)
			if passed != 2 || !slices.Equal(problems, test.want) {
				t.Errorf("%d tests pass, and the problems are %q, want %q", passed, problems, test.want)
			}
		})
	}
}

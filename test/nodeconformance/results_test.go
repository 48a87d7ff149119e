//go:build linux

package nodeconformance

import (
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readReport returns the tests that ran, and for each the message of its failure, or "".
func readReport(dir string) (map[string]string, error) {
	content, err := os.ReadFile(filepath.Join(dir, "junit_strata01.xml"))
	if err != nil {
		return nil, err
	}
	var suites struct {
		Suites []struct {
			Cases []struct {
				Name   string `xml:"name,attr"`
				Status string `xml:"status,attr"`
				// Failure is set if an expectation failed, and Error if the test was interrupted.
				Failure string `xml:"failure"`
				Error   string `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(content, &suites); err != nil {
		return nil, fmt.Errorf("read the report of a suite: %w", err)
	}
	results := map[string]string{}
	for _, suite := range suites.Suites {
		for _, c := range suite.Cases {
			name, isTest := strings.CutPrefix(c.Name, "[It] ")
			if !isTest || c.Status == "skipped" || c.Status == "pending" {
				continue
			}
			results[name] = ""
			if c.Status != "passed" {
				results[name] = c.Status + " " + c.Failure + c.Error
			}
		}
	}
	return results, nil
}

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

func TestAReportContainsTheMessagesOfFailures(t *testing.T) {
	dir := t.TempDir()
	const report = `<testsuites><testsuite>
		<testcase name="[It] a" status="passed"></testcase>
		<testcase name="[It] b" status="skipped"><skipped message="skipped"></skipped></testcase>
		<testcase name="[It] c" status="failed"><failure message="" type="failed">expected 1</failure></testcase>
		<testcase name="[It] d" status="interrupted"><error message="" type="interrupted">by the user</error></testcase>
		<testcase name="[ReportAfterSuite] e" status="failed"><failure message="">no report</failure></testcase>
	</testsuite></testsuites>`
	if err := os.WriteFile(filepath.Join(dir, "junit_strata01.xml"), []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "", "c": "failed expected 1", "d": "interrupted by the user"}
	if got, err := readReport(dir); err != nil || !maps.Equal(got, want) {
		t.Errorf("the results are %q, %v, want %q", got, err, want)
	}
}

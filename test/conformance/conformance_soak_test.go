//go:build linux

// Package conformance runs Kubernetes' own tests of a node against a local platform.
package conformance

import (
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images/store"
	"github.com/strata-platform/strata/test/soak"
	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// TestSoakConformance runs the tests that testdata/focus selects. It fails if a test fails that testdata/known does not
// list, or if a listed one passes.
func TestSoakConformance(t *testing.T) {
	soak.Rounds(t, 1) // The suite is one round.
	p := stratatest.NewWithTools(t)
	programs := buildPrograms(t)
	p.Run("local", "start")
	s, err := store.Open(filepath.Join(p.Home, "images"))
	if err != nil {
		t.Fatal(err)
	}
	putImages(t, s, programs)
	report := t.TempDir()
	suite := exec.CommandContext(t.Context(), filepath.Join(programs, "e2e.test"),
		"-kubeconfig="+filepath.Join(p.Home, "kubernetes", "admin.kubeconfig"), "-provider=skeleton", "-num-nodes=1",
		"-ginkgo.focus="+focus(t), "-ginkgo.skip="+pattern(t, "testdata/skip"), "-ginkgo.no-color", "-ginkgo.v",
		"-report-dir="+report, "-report-prefix=strata", "-disable-log-dump", "-test.timeout=0", "-ginkgo.timeout=3h")
	suite.Stdout, suite.Stderr = os.Stderr, os.Stderr
	ended := suite.Run()
	if exit := (*exec.ExitError)(nil); ended != nil && !errors.As(ended, &exit) {
		t.Fatal(ended)
	}
	if compare(t, readReport(t, report)) && ended != nil {
		t.Errorf("the suite did not run to its end: %v", ended)
	}
}

// buildPrograms builds the tests and the programs of their images from Kubernetes' module, and returns their folder.
func buildPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"test", "-c", "-ldflags=-s -w", "-o", filepath.Join(dir, "e2e.test"), "."},
		{"build", "-ldflags=-s -w", "-o", filepath.Join(dir, "agnhost"), "k8s.io/kubernetes/test/images/agnhost"},
		{"build", "-ldflags=-s -w", "-o", filepath.Join(dir, "nnp"), "k8s.io/kubernetes/test/images/nonewprivs"},
	} {
		build := exec.CommandContext(t.Context(), "go", args...)
		build.Dir = "../../tools/conformance"
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return dir
}

// lines returns the lines of a file without comments.
func lines(t *testing.T, name string) []string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(content), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "#")
	})
}

// focus returns the pattern of the tests to run. STRATA_CONFORMANCE_FOCUS replaces it, to look at single tests.
func focus(t *testing.T) string {
	if own := os.Getenv("STRATA_CONFORMANCE_FOCUS"); own != "" {
		return own
	}
	return pattern(t, "testdata/focus")
}

// pattern returns a regular expression that matches what one of a file's lines matches.
func pattern(t *testing.T, name string) string { return strings.Join(lines(t, name), "|") }

// readReport returns the tests that ran, and the message of each one that failed, or "".
func readReport(t *testing.T, dir string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "junit_strata01.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Suites []struct {
			Cases []struct {
				Name    string    `xml:"name,attr"`
				Skipped *struct{} `xml:"skipped"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(content, &suites); err != nil {
		t.Fatal(err)
	}
	results := map[string]string{}
	for _, suite := range suites.Suites {
		for _, c := range suite.Cases {
			name, isTest := strings.CutPrefix(c.Name, "[It] ")
			if !isTest || c.Skipped != nil {
				continue
			}
			results[name] = ""
			if c.Failure != nil {
				results[name] = c.Failure.Message
			}
		}
	}
	return results
}

// compare compares the results with the known failures. It reports whether no test failed.
func compare(t *testing.T, results map[string]string) bool {
	t.Helper()
	passed := 0
	known := lines(t, "testdata/known")
	for name, message := range results {
		listed := slices.ContainsFunc(known, func(k string) bool { return strings.Contains(name, k) })
		switch {
		case message == "" && !listed:
			passed++
		case message == "":
			t.Errorf("%s passes: remove it from testdata/known and docs/reference/local-node.md", name)
		case !listed:
			t.Errorf("%s: %s", name, message)
		}
	}
	if len(results) == 0 {
		t.Fatal("no test ran")
	}
	fmt.Fprintf(os.Stderr, "%d of %d tests of Kubernetes pass\n", passed, len(results))
	return passed == len(results)
}

//go:build linux

// Package nodeconformance runs Kubernetes' own tests of a node against a local platform.
package nodeconformance

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images/store"
	"github.com/strata-platform/strata/test/soak"
	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// TestSoakNodeConformance runs the tests that testdata/focus selects. It fails if a test fails that testdata/known does not
// list, if a listed one passes, and if a line of testdata/known names no test.
func TestSoakNodeConformance(t *testing.T) {
	soak.Rounds(t, 1) // The suite is one round.
	p := stratatest.NewWithTools(t)
	programs := buildPrograms(t)
	p.Run("local", "start")
	s, err := store.Open(filepath.Join(p.Home, "images"))
	if err != nil {
		t.Fatal(err)
	}
	putImages(t, s, programs)
	compare(t, runSuites(t, filepath.Join(programs, "e2e.test"), filepath.Join(p.Home, "kubernetes", "admin.kubeconfig")))
}

// runSuites runs the tests of each pattern, all patterns at the same time, and returns the results by name. Kubernetes' tests
// without [Serial] may run beside each other. Each suite writes its output to the artifacts of the test (go test -artifacts).
func runSuites(t *testing.T, program, kubeconfig string) map[string]string {
	t.Helper()
	dir, skip := t.ArtifactDir(), strings.Join(lines(t, "testdata/skip"), "|")
	var lock sync.Mutex
	var group sync.WaitGroup
	results := map[string]string{}
	for i, pattern := range focus(t) {
		suite := exec.CommandContext(t.Context(), program, "-kubeconfig="+kubeconfig, "-provider=skeleton", "-num-nodes=1",
			"-ginkgo.focus="+pattern, "-ginkgo.skip="+skip, "-ginkgo.no-color", "-ginkgo.v", "-ginkgo.timeout=3h",
			"-report-dir=.", "-report-prefix=strata", "-disable-log-dump", "-test.timeout=0")
		suite.Dir = filepath.Join(dir, fmt.Sprint(i))
		group.Go(func() {
			found, err := runSuite(suite)
			lock.Lock()
			defer lock.Unlock()
			maps.Copy(results, found)
			if err != nil {
				t.Errorf("run the tests %s: %v", pattern, err)
			}
			fmt.Fprintf(os.Stderr, "%d tests of %s have ended\n", len(found), pattern)
		})
	}
	group.Wait()
	return results
}

// runSuite runs a suite in a new folder. An error means that some tests did not run to their end.
func runSuite(suite *exec.Cmd) (map[string]string, error) {
	if err := os.Mkdir(suite.Dir, 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(suite.Dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	suite.Stdout, suite.Stderr = log, log
	ended := suite.Run()
	results, err := readReport(suite.Dir)
	if err != nil {
		return nil, errors.Join(ended, err)
	}
	if ended != nil && !slices.ContainsFunc(slices.Collect(maps.Values(results)), func(message string) bool { return message != "" }) {
		return results, fmt.Errorf("no test failed, but the suite did not run to its end: %w", ended)
	}
	return results, nil
}

// buildPrograms builds the tests and the programs of their images from Kubernetes' module, and returns their folder. The folder
// also contains the certificate that agnhost serves.
func buildPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) []byte {
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir = "../../tools/conformance"
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
		}
		return bytes.TrimSpace(out)
	}
	run("test", "-c", "-ldflags=-s -w", "-o", filepath.Join(dir, "e2e.test"), ".")
	run("build", "-ldflags=-s -w", "-o", filepath.Join(dir, "agnhost"), "k8s.io/kubernetes/test/images/agnhost")
	run("build", "-ldflags=-s -w", "-o", filepath.Join(dir, "nnp"), "k8s.io/kubernetes/test/images/nonewprivs")
	module := string(run("list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"))
	for _, name := range []string{"localhost.crt", "localhost.key"} {
		content, err := os.ReadFile(filepath.Join(module, "test/images/agnhost/porter", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
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

// focus returns the patterns of the tests to run. STRATA_NODE_CONFORMANCE_FOCUS replaces them, to look at single tests.
func focus(t *testing.T) []string {
	if own := os.Getenv("STRATA_NODE_CONFORMANCE_FOCUS"); own != "" {
		return []string{own}
	}
	return lines(t, "testdata/focus")
}

// compare compares the results with the known failures, and fails the test for each difference.
func compare(t *testing.T, results map[string]string) {
	t.Helper()
	if len(results) == 0 {
		t.Fatal("no test ran")
	}
	whole := os.Getenv("STRATA_NODE_CONFORMANCE_FOCUS") == ""
	passed, problems := differences(results, lines(t, "testdata/known"), whole)
	for _, problem := range problems {
		t.Error(problem)
	}
	fmt.Fprintf(os.Stderr, "%d of %d tests of Kubernetes pass\n", passed, len(results))
}

package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/operator/engine"
)

// confined skips a test if runs are not confined.
func confined(t *testing.T) {
	t.Helper()
	if err := engine.CanConfine(); err != nil {
		t.Skip(err)
	}
}

func reading(path string) string {
	return fmt.Sprintf("outputs: {content: {fn::readFile: %q}}\n", path)
}

func TestRunReadsItsOwnFolder(t *testing.T) {
	f := newFixture(t)
	result := f.mustRun(t, f.request(reading("${pulumi.cwd}/Pulumi.yaml")))
	if got := string(result.Outputs["content"].Value); !strings.Contains(got, "fn::readFile") {
		t.Errorf("the run read %s, want its own Program", got)
	}
}

func TestRunReadsNoOthersFiles(t *testing.T) {
	confined(t)
	const content = "canary-4711"
	f := newFixture(t)
	t.Setenv("OPERATOR_SECRET", content)
	place := func(path string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	outside := place(filepath.Join(t.TempDir(), "credentials"))
	inside := filepath.Join(f.backend, "link")
	if err := os.MkdirAll(f.backend, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, inside); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"of the machine":                       outside,
		"by a link from its own backend":       inside,
		"of a neighbour's backend":             place(filepath.Join(filepath.Dir(filepath.Dir(f.backend)), "other", "state")),
		"of the system that are not for all":   "/etc/shadow",
		"that show the operator's environment": fmt.Sprintf("/proc/%d/environ", os.Getpid()),
		"that show the machine":                "/proc/version",
	}
	for name, path := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := f.run(t, f.request(reading(path)))
			var failure *engine.Error
			if !errors.As(err, &failure) || !strings.Contains(failure.Message, path) || !strings.Contains(failure.Message, "no such file") {
				t.Fatalf("error %v, want one that says that %s does not exist", err, path)
			}
			if strings.Contains(failure.Message+failure.Log, content) {
				t.Error("the content is in the message or the log")
			}
		})
	}
}

func TestFolderOnPathThatHoldsTheRunIsNotReadable(t *testing.T) {
	confined(t)
	f := newFixture(t)
	around := filepath.Dir(f.Folders.Parent)
	f.Env[0] += string(os.PathListSeparator) + around
	beside := filepath.Join(around, "beside")
	if err := os.WriteFile(beside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.run(t, f.request(reading(beside))); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v, want one that says that %s does not exist", err, beside)
	}
}

func TestConfinementEndsWithTheRun(t *testing.T) {
	confined(t)
	if restricted(t) > 0 {
		t.Skip("this process was started restricted")
	}
	f := newFixture(t)
	f.mustRun(t, f.request(""))
	// The thread of a run ends some time after the run.
	for deadline := time.Now().Add(time.Minute); restricted(t) > 0; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a thread of this process is still confined")
		}
	}
}

// restricted counts the threads of this process that have no_new_privs, as confined
// threads do. restricted omits the first thread, which never ends but is not used any
// more.
func restricted(t *testing.T) int {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, thread := range threads {
		status, _ := os.ReadFile(thread) // The thread may have ended.
		first := filepath.Base(filepath.Dir(thread)) == strconv.Itoa(os.Getpid())
		if strings.Contains(string(status), "NoNewPrivs:\t1") && !first {
			count++
		}
	}
	return count
}

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strata-platform/strata/operator/sandbox"
	"github.com/strata-platform/strata/operator/sandbox/processes"
)

// sleeper returns a command line that no other process has.
func sleeper() string { return fmt.Sprintf("sleep %d", 1_000_000+rand.N(1_000_000_000)) }

// living returns the processes with a command line. A process that has ended has an
// empty command line.
func living(t *testing.T, line string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range all {
		words, _ := os.ReadFile(file) // The process may have ended.
		if strings.ReplaceAll(string(words), "\x00", " ") == line+" " {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}

// children returns the children of this process, including zombies.
func children(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range all {
		status, _ := os.ReadFile(file)
		if bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", os.Getpid())) {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}

func TestHiddenProcessesEndWithTheirCommand(t *testing.T) {
	sandbox.WithoutNamespaces(t)
	const escaped = "until test -e escaped; do sleep 0.01; done"
	line := sleeper()
	for name, script := range map[string]string{
		"a process without environment":              `(env -i setsid sh -c ': > escaped; exec ` + line + `' &); ` + escaped,
		"one with another's home":                    `(env HOME=/ setsid sh -c ': > escaped; exec ` + line + `' &); ` + escaped,
		"the child of one":                           `(env -i setsid sh -c 'setsid ` + line + ` & : > escaped; wait' &); ` + escaped,
		"one that is killed with the command's name": `(env -i setsid sh -c ': > escaped; exec ` + line + `' &); ` + escaped + `; kill -9 $$`,
		"one that has ended by itself":               `(env -i setsid sh -c ': > escaped' &); ` + escaped,
	} {
		t.Run(name, func(t *testing.T) {
			command, home, output := shell(t, script)
			before := children(t)
			if err := command.Run(t.Context()); err != nil && !strings.Contains(script, "kill") {
				t.Fatalf("%v: %s", err, output)
			}
			if _, err := os.Stat(filepath.Join(home, "escaped")); err != nil {
				t.Fatalf("nothing escaped: %s", output)
			}
			if left := living(t, line); len(left) > 0 {
				t.Errorf("%v run on", left)
			}
			for _, child := range children(t) {
				if !slices.Contains(before, child) {
					t.Errorf("%s is left", child)
				}
			}
		})
	}
}

func TestEndOfACommandDoesNotAffectOthers(t *testing.T) {
	sandbox.WithoutNamespaces(t)
	status, err := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/status")
	if err != nil || bytes.Contains(status, []byte("NoNewPrivs:\t1")) {
		t.Skip("this process's own children bear the mark of commands")
	}
	lines := map[string]string{
		"another command that hides its home":        sleeper(),
		"a process of another command":               sleeper(),
		"one that another command's process left":    sleeper(),
		"a child of this process":                    sleeper(),
		"one that a child of this process left over": sleeper(),
	}
	own := exec.Command("sh", "-c", "(setsid "+lines["one that a child of this process left over"]+" & ); echo; exec "+lines["a child of this process"])
	own.Env = []string{"PATH=" + os.Getenv("PATH")}
	said, err := own.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = own.Process.Kill()
		_ = own.Wait()
		for _, pid := range living(t, lines["one that a child of this process left over"]) {
			number, _ := strconv.Atoi(pid)
			if process, err := os.FindProcess(number); err == nil {
				_ = process.Kill()
			}
		}
	})
	if _, err := said.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}

	other, _, _ := shell(t, "(setsid "+lines["one that another command's process left"]+" & ); "+lines["a process of another command"]+" & echo; exec env -i "+lines["another command that hides its home"])
	output := &firstWord{said: make(chan struct{})}
	other.Output = output
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = other.Run(ctx) // It was stopped by ctx.
	}()
	<-output.said
	command, _, _ := shell(t, "true")
	deadline := time.Now().Add(time.Minute)
	for name, line := range lines {
		for ; len(living(t, line)) == 0; <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s did not start", name)
			}
		}
	}
	if err := command.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, line := range lines {
		if len(living(t, line)) == 0 {
			t.Errorf("%s was ended", name)
		}
	}
	stop()
	<-ended
	for name, line := range lines {
		if strings.Contains(name, "another command") && len(living(t, line)) > 0 {
			t.Errorf("%s outlives its command", name)
		}
	}
}

func TestCommandsThatStartWhileOthersEndRunToTheirEnd(t *testing.T) {
	sandbox.WithoutNamespaces(t)
	// A new command can be mistaken for an orphan only if another command ends at the same
	// moment.
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				command, _, output := shell(t, "echo out")
				if err := command.Run(t.Context()); err != nil || output.String() != "out\n" {
					t.Errorf("output %q, error %v", output, err)
				}
			}
		})
	}
	all.Wait()
}

// childVariable makes the test's own executable the process that the test kills.
const childVariable = "SANDBOX_CHILD"

func TestLeftoversOfAKilledProcessAreFoundByTheirFolder(t *testing.T) {
	sandbox.WithoutNamespaces(t)
	if dir := os.Getenv(childVariable); dir != "" {
		command, _, _ := shell(t, os.Getenv("SCRIPT"))
		command.Dir, command.Env[0], command.Grants = dir, "HOME="+dir, sandbox.Grants(os.Getenv("PATH"), dir)
		t.Fatal(command.Run(t.Context()))
	}
	shell(t, "") // This skips the test on other systems.
	line := sleeper()
	dir := filepath.Join(t.TempDir(), "run-1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), childVariable+"="+dir, "SCRIPT=(env -i setsid "+line+" & ); exec sleep 1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); len(living(t, line)) == 0; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was started")
		}
	}
	_ = child.Process.Kill()
	_ = child.Wait() // It was killed.
	if len(living(t, line)) == 0 {
		t.Fatal("what it started ended with it: nothing is tested")
	}
	if err := processes.Kill(filepath.Join(filepath.Dir(dir), "run-")); err != nil {
		t.Fatal(err)
	}
	if left := living(t, line); len(left) > 0 {
		t.Errorf("%v run on", left)
	}
}

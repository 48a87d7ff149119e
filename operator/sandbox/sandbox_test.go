package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/operator/environ"
	"github.com/strata-platform/strata/operator/sandbox"
	"github.com/strata-platform/strata/operator/sandbox/processes"
)

// shell returns a command that executes a script with its own home.
func shell(t *testing.T, script string) (c sandbox.Command, home string, output *bytes.Buffer) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the environment of processes")
	}
	home, output = t.TempDir(), &bytes.Buffer{}
	path := os.Getenv("PATH")
	file, err := environ.LookPath("sh", path)
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Command{
		Path: file, Args: []string{"-c", script}, Dir: home, Env: []string{"HOME=" + home, "PATH=" + path},
		Output: output, Confinement: sandbox.Confinement{Grants: sandbox.Grants(path, home)}, StopTimeout: 100 * time.Millisecond,
	}, home, output
}

// users returns the processes whose HOME begins with the given one.
func users(t *testing.T, home string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range all {
		if env, _ := os.ReadFile(file); bytes.Contains(env, []byte("HOME="+home)) { // the process may have ended
			found = append(found, file)
		}
	}
	return found
}

func TestCommandEndsWithAllThatItStarted(t *testing.T) {
	cases := map[string]struct {
		script string
		stop   bool
		fails  bool
	}{
		"that holds its output":             {"echo out; sleep 1000 & true", false, false},
		"in a session of its own":           {"echo out; setsid sleep 1000 & true", false, false},
		"when it fails":                     {"echo out; setsid sleep 1000 & exit 3", false, true},
		"when it is stopped":                {"echo out; setsid sleep 1000 & sleep 1000", true, true},
		"when it does not heed being asked": {"trap '' INT; echo out; setsid sleep 1000 & sleep 1000; sleep 1000", true, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			command, home, _ := shell(t, c.script)
			output := &firstWord{said: make(chan struct{})}
			command.Output = output
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if c.stop {
				go func() {
					<-output.said
					stop()
				}()
			}
			err := command.Run(ctx)
			var exit *exec.ExitError
			if errors.As(err, &exit) != c.fails || !c.fails && err != nil {
				t.Errorf("error %v", err)
			}
			if left := users(t, home); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// TestCommandEndsByTheInterruptThatItDoesNotHandle would take an hour if it failed.
func TestCommandEndsByTheInterruptThatItDoesNotHandle(t *testing.T) {
	for script, want := range map[string]int{
		"exec yes": -1, // by a signal
		"trap 'exit 3' INT; echo out; sleep 10000 & wait $!": 3,
	} {
		command, _, _ := shell(t, script)
		output := &firstWord{said: make(chan struct{})}
		command.Output, command.StopTimeout = output, time.Hour
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			<-output.said
			stop()
		}()
		if exit, ok := errors.AsType[*exec.ExitError](command.Run(ctx)); !ok || exit.ExitCode() != want {
			t.Errorf("%s: %v, want exit code %d", script, exit, want)
		}
	}
}

// firstWord reports the first write to it.
type firstWord struct {
	said chan struct{}
	once bool
}

func (s *firstWord) Write(p []byte) (int, error) {
	if !s.once {
		s.once = true
		close(s.said)
	}
	return len(p), nil
}

func TestCommandReadsAndPrints(t *testing.T) {
	command, _, output := shell(t, "cat; echo error >&2")
	command.Stdin = []byte("input\n")
	if err := command.Run(t.Context()); err != nil || output.String() != "input\nerror\n" {
		t.Errorf("output %q, error %v", output, err)
	}
}

func TestCommandWithoutAHomeOfItsOwnIsRefused(t *testing.T) {
	command, _, _ := shell(t, "true")
	command.Env = []string{"HOME=relative"}
	if err := command.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "its own HOME") {
		t.Errorf("error %v, want one about HOME", err)
	}
}

func TestKillDoesNotAffectOthers(t *testing.T) {
	command, _, _ := shell(t, "")
	dir := t.TempDir()
	start := func(home string) *exec.Cmd {
		cmd := exec.Command(command.Path, "-c", "sleep 1000 & wait")
		cmd.Env = []string{"A=1", "HOME=" + home, "PATH=" + os.Getenv("PATH")}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = processes.Kill(dir)
		})
		return cmd
	}
	left, other := start(filepath.Join(dir, "run-1", "home")), start(filepath.Join(dir, "other"))
	ended := make(chan struct{})
	go func() {
		_ = left.Wait() // It is killed.
		close(ended)
	}()
	if err := processes.Kill(filepath.Join(dir, "run-")); err != nil {
		t.Fatal(err)
	}
	<-ended
	if found := users(t, filepath.Join(dir, "run-1")); len(found) > 0 {
		t.Errorf("%v are left", found)
	}
	if err := other.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("another's process ended, too: %v", err)
	}
}

package gohost_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/long"
)

func TestProgramGetsTheConfigurationOfItsRun(t *testing.T) {
	long.Test(t)
	p := newProject(t, "go", program)
	p.mustRun(t, "config", "set", "--secret", "password", "canary")
	preview := p.mustRun(t, "preview")
	if strings.Contains(preview, "canary") {
		t.Errorf("the preview contains the secret:\n%s", preview)
	}
	up := p.mustRun(t, "up", "--yes", "--skip-preview")
	for _, printed := range []string{"printed for people", "complained for people"} {
		if !strings.Contains(up, printed) {
			t.Errorf("%q is not in pulumi's output:\n%s", printed, up)
		}
	}
	stdout, err := p.command(t, "stack", "output", "--json", "--show-secrets").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(stdout, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"secret": "canary", "marked": true, "name": "organization/app/dev",
		"root": p.dir, "dir": filepath.Join(p.dir, "app"),
	} {
		if got[name] != want {
			t.Errorf("the program's %s is %v, want %v", name, got[name], want)
		}
	}
	if left := p.leftovers(t); len(left) > 0 {
		t.Errorf("files remain: %v", left)
	}
}

func TestPulumiShowsAFailureOnce(t *testing.T) {
	long.Test(t)
	p := newProject(t, "go", program)
	for mode, want := range map[string]string{
		"error": "the moon is too far",
		"panic": "panic: the moon fell",
		"exit":  "the program ended with exit status 7",
	} {
		t.Run(mode, func(t *testing.T) {
			p.mustRun(t, "config", "set", "mode", mode)
			out, err := p.run(t, "preview")
			if err == nil {
				t.Error("preview succeeds")
			}
			once(t, out, want)
			if strings.Contains(out, "rpc error") || strings.Contains(out, "exit status 32") {
				t.Errorf("the message of the host replaces that of the program:\n%s", out)
			}
		})
	}
	t.Run("compile", func(t *testing.T) {
		p.write(t, "app/broken.go", "package main\n\nvar x = theMoon\n")
		out, err := p.run(t, "preview")
		if err == nil {
			t.Error("preview succeeds")
		}
		once(t, out, "undefined: theMoon")
		once(t, out, "build the program in "+filepath.Join(p.dir, "app"))
	})
	if left := p.leftovers(t); len(left) > 0 {
		t.Errorf("files remain: %v", left)
	}
}

func TestOptions(t *testing.T) {
	long.Test(t)
	p := newProject(t, "{name: go, options: {buildTarget: built}}", program)
	p.mustRun(t, "preview")
	if _, err := os.Stat(filepath.Join(p.dir, "app", "built")); err != nil {
		t.Errorf("buildTarget: %v", err)
	}
	// The built program runs without its source.
	p.write(t, "Pulumi.yaml", "name: app\nmain: app\nruntime: {name: go, options: {binary: built}}\n")
	if err := os.Remove(filepath.Join(p.dir, "app", "main.go")); err != nil {
		t.Fatal(err)
	}
	p.mustRun(t, "preview")
	for options, want := range map[string]string{
		"{binary: moon}":                      "find the program moon",
		"{binary: built, buildTarget: other}": "exclude each other",
		"{binary: 7}":                         "it must be a string",
	} {
		p.write(t, "Pulumi.yaml", "name: app\nmain: app\nruntime: {name: go, options: "+options+"}\n")
		if out, err := p.run(t, "preview"); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: want %q, got %v:\n%s", options, want, err, out)
		}
	}
}

func TestTheProgramEndsWithPulumi(t *testing.T) {
	long.Test(t)
	p := newProject(t, "go", program)
	p.mustRun(t, "config", "set", "mode", "wait")
	for name, signal := range map[string]os.Signal{"interrupted": os.Interrupt, "killed": os.Kill} {
		t.Run(name, func(t *testing.T) {
			c := p.command(t, "up", "--yes", "--skip-preview")
			pid := startWaiting(t, c)
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := c.Wait(); !errors.As(err, &exit) {
				t.Errorf("up ends with %v", err)
			}
			// pulumi does not wait for the end of the program, and a killed pulumi does not wait for the end of its
			// language host.
			if !eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }) {
				t.Errorf("the program %d still runs after pulumi has ended", pid)
			}
			if !eventually(t, func() bool { return len(p.leftovers(t)) == 0 }) {
				t.Errorf("files remain: %v", p.leftovers(t))
			}
			if signal == os.Kill {
				p.mustRun(t, "cancel", "--yes")
			}
		})
	}
	p.mustRun(t, "config", "set", "mode", "go")
	p.mustRun(t, "up", "--yes", "--skip-preview")
}

// startWaiting starts a run of the program. It returns the program's PID once the program waits.
func startWaiting(t *testing.T, c *exec.Cmd) (pid int) {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, text, ok := strings.Cut(lines.Text(), "waiting as "); ok {
			if _, err := fmt.Sscan(text, &pid); err != nil {
				t.Fatal(err)
			}
			// Nobody reads the rest of the output, which is small enough for the buffer of the pipe.
			return pid
		}
	}
	t.Fatalf("the program did not start: %v", c.Wait())
	return 0
}

// eventually polls a condition until it holds or a minute has passed.
func eventually(t *testing.T, holds func() bool) bool {
	t.Helper()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-deadline:
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
	return true
}

func TestAbout(t *testing.T) {
	p := newProject(t, "go", program)
	out := p.mustRun(t, "about")
	for _, want := range []string{"go1.", "github.com/pulumi/pulumi/sdk/v3"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}

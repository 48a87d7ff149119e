package layers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// sparing is a pulumi command that skips those calls of the Automation API whose results nobody uses. Each call takes a
// fifth of the time of an up without changes.
type sparing struct {
	auto.PulumiCommand
	// selected skips the selection of the stack: the stack exists, and all other calls name it.
	selected bool
	// silent skips reading the stack's outputs and its history.
	silent bool
}

// Command returns the pulumi command in the bin folder of root. The first call asks the command for its version; later
// calls return the same result.
func Command(root string) func() (auto.PulumiCommand, error) {
	return sync.OnceValues(func() (auto.PulumiCommand, error) {
		return auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: root})
	})
}

// Run answers skipped calls itself and passes the others to pulumi.
func (f sparing) Run(ctx context.Context, dir string, in io.Reader, out, errs []io.Writer, env []string, args ...string) (string, string, int, error) {
	is := func(words ...string) bool { return len(args) >= len(words) && slices.Equal(args[:len(words)], words) }
	switch {
	case is("stack", "output") && f.silent:
		return "{}", "", 0, nil
	case is("stack", "history") && f.silent:
		return "[]", "", 0, nil
	case is("stack", "select") && f.selected:
		return "", "", 0, nil
	}
	return f.PulumiCommand.Run(ctx, dir, in, out, errs, env, args...)
}

// pinned is a pulumi command of a known version. The Automation API's own command starts pulumi to ask for the version,
// which takes a tenth of an up without changes.
type pinned struct {
	path    string
	version semver.Version
}

// Pinned returns the pulumi command in the bin folder of root, whose version the caller knows. It finds language hosts that
// are not beside it in the folder spares of root. When the context of a call
// ends, pulumi gets one interrupt, and is killed if it does not end within ten seconds.
func Pinned(root, version string) func() (auto.PulumiCommand, error) {
	return func() (auto.PulumiCommand, error) {
		parsed, err := semver.ParseTolerant(version)
		if err != nil {
			return nil, fmt.Errorf("read the version of pulumi, %q: %w", version, err)
		}
		return pinned{filepath.Join(root, "bin", "pulumi"), parsed}, nil
	}
}

// Version implements auto.PulumiCommand.
func (p pinned) Version() semver.Version { return p.version }

// Run implements auto.PulumiCommand.
func (p pinned) Run(ctx context.Context, dir string, in io.Reader, out, errs []io.Writer, env []string, args ...string) (string, string, int, error) {
	call := newCall(exec.CommandContext(ctx, p.path, nonInteractive(args)...), out, errs) //nolint:gosec // The home's own pulumi.
	call.command.Dir, call.command.Stdin = dir, in
	// Pulumi finds its language hosts on PATH.
	bin := filepath.Dir(p.path)
	path := "PATH=" + strings.Join([]string{bin, filepath.Join(filepath.Dir(bin), "spares"), os.Getenv("PATH")}, string(os.PathListSeparator))
	call.command.Env = slices.Concat(os.Environ(), env, []string{automation, path})
	call.command.Cancel = func() error { return call.command.Process.Signal(os.Interrupt) }
	call.command.WaitDelay = interruptGrace
	return call.result(call.command.Run())
}

const (
	// unknownExit is the Automation API's exit code for a run without one.
	unknownExit = -2
	// interruptGrace is how long an interrupted pulumi may run, as with the Automation API's own command.
	interruptGrace = 10 * time.Second
	// automation tells pulumi that the Automation API calls it.
	automation = "PULUMI_AUTOMATION_API=true"
)

// call is a call of pulumi with its output.
type call struct {
	command        *exec.Cmd
	stdout, stderr bytes.Buffer
}

// newCall makes a command write to out and errs, and keep its output.
func newCall(command *exec.Cmd, out, errs []io.Writer) *call {
	c := &call{command: command}
	command.Stdout = io.MultiWriter(slices.Concat(out, []io.Writer{&c.stdout})...)
	command.Stderr = io.MultiWriter(slices.Concat(errs, []io.Writer{&c.stderr})...)
	return c
}

// result returns the results of Run of auto.PulumiCommand, for the error of the command.
func (c *call) result(err error) (stdout, stderr string, code int, failure error) {
	code = unknownExit
	var exit *exec.ExitError
	if errors.As(err, &exit) || err == nil {
		code = c.command.ProcessState.ExitCode()
	}
	return c.stdout.String(), c.stderr.String(), code, err
}

// nonInteractive adds the flag that makes pulumi fail instead of asking.
func nonInteractive(args []string) []string {
	if slices.Contains(args, "--non-interactive") {
		return args
	}
	return append([]string{"--non-interactive"}, args...)
}

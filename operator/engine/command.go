package engine

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

const (
	// stopTimeout is how long pulumi may take to stop in good order.
	stopTimeout = 60 * time.Second

	// tailSize is how much of pulumi's output is kept.
	tailSize = 16 << 10

	exitStackMissing = 6

	pulumiName = "pulumi"
)

// pulumi runs one pulumi command on the stack and returns the end of its output.
func (r *run) pulumi(ctx context.Context, stdin []byte, args ...string) (string, error) {
	path, err := sandbox.LookPath(pulumiName, sandbox.Value(r.env, "PATH"))
	if err != nil {
		return "", err
	}
	name := args[0]
	if name != "stack" {
		args = append([]string{name, "--stack", r.Stack}, args[1:]...)
	}
	out := &tail{}
	err = sandbox.Command{
		Path: path, Args: append([]string{"--non-interactive"}, args...),
		Dir: r.workDir, Env: r.env, Stdin: stdin, Output: out,
		Grants: r.grants(), StopTimeout: stopTimeout,
	}.Run(ctx)
	log := r.mask.apply(out.String())
	if err == nil {
		return log, nil
	}
	failure := &Error{Operation: r.Operation, Stack: r.Stack, Log: log, raw: out.String()}
	failure.classify(ctx, err)
	return log, failure
}

// grants returns what the run may use.
func (r *run) grants() []sandbox.Grant {
	own := []string{r.dir}
	if r.local {
		own = append(own, r.BackendFolder)
	}
	grants := sandbox.Grants(sandbox.Value(r.env, "PATH"), own...)
	if r.shared != "" {
		grants = append(grants, sandbox.Grant{Path: r.shared})
	}
	return grants
}

// tail keeps the end of what is written to it.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.data) }

func exitError(err error) *exec.ExitError {
	var exit *exec.ExitError
	errors.As(err, &exit)
	return exit
}

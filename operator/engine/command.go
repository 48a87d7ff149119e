package engine

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"time"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/engine/printed"
	"github.com/strata-platform/strata/operator/environ"
	"github.com/strata-platform/strata/operator/sandbox"
)

const (
	// stopTimeout is how long pulumi may take to stop gracefully. A run that is killed
	// after that time leaves pending operations, and the next run recovers them.
	stopTimeout = 15 * time.Second

	exitStackMissing = 6

	pulumiName = "pulumi"
)

// pulumi runs one pulumi command on the stack and returns the end of its output, with
// secrets masked.
func (r *run) pulumi(ctx context.Context, stdin []byte, args ...string) (string, error) {
	path, err := environ.LookPath(pulumiName, environ.Variable(r.env, "PATH"))
	if err != nil {
		return "", err
	}
	name := args[0]
	if name != "stack" {
		args = append([]string{name, "--stack", r.Stack}, args[1:]...)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &printed.Tail{Limit: maxOutput, Over: func() {
		cancel(bounds.Exceeded("the run has printed more than %d bytes: make its program print less", maxOutput))
	}}
	err = sandbox.Command{
		Path: path, Args: append([]string{"--non-interactive"}, args...),
		Dir: r.workDir, Env: r.env, Stdin: stdin, Output: io.MultiWriter(out, &r.log),
		Confinement: r.confinement(), StopTimeout: stopTimeout,
	}.Run(ctx)
	log := r.mask.Apply(out.String())
	if err == nil {
		return log, nil
	}
	if errors.Is(err, sandbox.ErrProcesses) {
		cancel(bounds.Exceeded("the run has had more than %d processes and threads: make its program start fewer", maxProcesses))
	}
	failure := &Error{Operation: r.Operation, Stack: r.Stack, Log: log, raw: out.String()}
	failure.classify(ctx, err)
	return log, failure
}

const (
	// maxOutput bounds what one command of an operation prints, in bytes.
	maxOutput = 64 << 20

	// maxFile bounds the size of each file of a run and of its state, in bytes.
	maxFile = 1 << 30

	// maxMemory bounds the memory of each process of a run, in bytes.
	maxMemory = 4 << 30

	// maxProcesses bounds the processes and threads of a run. A run with a dozen providers has some hundreds.
	maxProcesses = 2 << 10

	// maxUserProcesses bounds the processes and threads of the run's user, which the
	// platform's processes share.
	maxUserProcesses = 16 << 10
)

// confinement returns the files, network and limits of the run's commands.
func (r *run) confinement() sandbox.Confinement {
	return sandbox.Confinement{
		Grants: r.grants(), Network: r.network,
		Limits: sandbox.Limits{
			FileSize: maxFile, Memory: maxMemory, Processes: maxProcesses, UserProcesses: maxUserProcesses, First: true,
		},
	}
}

// network returns the network of runs, or nil if runs share the network of this
// process.
func (e *Engine) network(req Request) (*sandbox.Network, error) {
	endpoints := e.Endpoints
	if req.Operation == Plan && len(e.PlanEndpoints) > 0 {
		endpoints = e.PlanEndpoints
	}
	if len(endpoints) == 0 {
		return nil, nil
	}
	network := &sandbox.Network{Endpoints: slices.Clone(req.Endpoints)}
	forwarded, err := sandbox.ToEach(endpoints)
	network.Endpoints = append(network.Endpoints, forwarded...)
	return network, err
}

// grants returns the files that the run may access.
func (r *run) grants() []sandbox.Grant {
	own := []string{r.dir}
	if r.located.Folder != "" {
		own = append(own, r.BackendFolder)
	}
	grants := sandbox.Grants(environ.Variable(r.env, "PATH"), own...)
	if r.shared != "" {
		grants = append(grants, sandbox.Grant{Path: r.shared})
	}
	return grants
}

func exitError(err error) *exec.ExitError {
	var exit *exec.ExitError
	errors.As(err, &exit)
	return exit
}

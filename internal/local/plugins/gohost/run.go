package gohost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/constant"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// grace is the time that an interrupted program has to end.
const grace = 5 * time.Second

// Run builds and runs the program. It returns errors in the response, which the engine shows unchanged.
func (h *host) Run(ctx context.Context, req *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	if req.GetAttachDebugger() {
		return failed(errors.New("the local Go language host cannot attach a debugger: use the official Pulumi CLI"))
	}
	engine, err := h.engineAddress()
	if err != nil {
		return failed(err)
	}
	env, err := environment(req, engine)
	if err != nil {
		return failed(err)
	}
	ctx, release := h.until(ctx)
	defer release()
	program, remove, err := h.program(ctx, engine, req)
	if err != nil {
		return failed(err)
	}
	defer remove()
	command := command(ctx, req.GetPwd(), program)
	command.Env = env
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	err = command.Run()
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return &pulumirpc.RunResponse{}, nil
	case exited && exit.ExitCode() == constant.ExitStatusLoggedError:
		// The program has reported the failure to the engine.
		return &pulumirpc.RunResponse{Bail: true}, nil
	case ctx.Err() != nil:
		return failed(errors.New("the program was interrupted"))
	case exited:
		return failed(fmt.Errorf("the program ended with %s and without an error message: see its output", exit.ProcessState))
	}
	return failed(fmt.Errorf("run the program: %w", err))
}

func failed(err error) (*pulumirpc.RunResponse, error) {
	return &pulumirpc.RunResponse{Error: err.Error()}, nil
}

// command returns a command that gets an interrupt when ctx is done, and is killed if it does not end then.
func command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = dir
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = grace
	return c
}

// environment returns the environment of a program that uses Pulumi's Go SDK. It sets all variables of the run, even to
// "", so that the program inherits none of them from the engineer's shell.
func environment(req *pulumirpc.RunRequest, engine string) ([]string, error) {
	config, err := json.Marshal(req.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	secrets, err := json.Marshal(req.GetConfigSecretKeys())
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	return append(os.Environ(),
		pulumi.EnvOrganization+"="+req.GetOrganization(),
		pulumi.EnvProject+"="+req.GetProject(),
		pulumi.EnvPulumiRootDirectory+"="+req.GetInfo().GetRootDirectory(),
		pulumi.EnvStack+"="+req.GetStack(),
		pulumi.EnvConfig+"="+string(config),
		pulumi.EnvConfigSecretKeys+"="+string(secrets),
		pulumi.EnvDryRun+"="+strconv.FormatBool(req.GetDryRun()),
		pulumi.EnvParallel+"="+strconv.Itoa(int(req.GetParallel())),
		pulumi.EnvMonitor+"="+req.GetMonitorAddress(),
		pulumi.EnvEngine+"="+engine,
	), nil
}

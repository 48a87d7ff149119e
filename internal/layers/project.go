package layers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/operator/engine/settle"
)

// Project is a layer as a Pulumi project in a folder. It uses the login, the stack and the configuration of the
// engineer's own pulumi.
type Project struct {
	// Name is the layer's name for people. Dir is the folder of its Pulumi.yaml.
	Name, Dir string
	// Stack is the name of the stack. It must exist.
	Stack string
	// Command is the engineer's pulumi.
	Command auto.PulumiCommand
	// Line returns a command line of pulumi for the stack, for messages.
	Line func(command string) string
	// Log is the file for pulumi's own output. Its folder is created if it does not exist.
	Log string
}

// Up brings the layer's resources to the state that its program declares. If refresh is true, it compares with the
// existing resources instead of the recorded state.
func (p Project) Up(ctx context.Context, refresh bool, progress Progress) (Summary, error) {
	options := []optup.Option{optup.SuppressOutputs()}
	if refresh {
		options = append(options, optup.Refresh())
	}
	return p.run(ctx, progress, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		_, err := stack.Up(ctx, append(options, optup.EventStreams(stream), optup.ProgressStreams(log), optup.ErrorProgressStreams(log))...)
		return err
	})
}

// Preview returns the changes that Up would make.
func (p Project) Preview(ctx context.Context, progress Progress) (Summary, error) {
	return p.run(ctx, progress, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		_, err := stack.Preview(ctx, optpreview.EventStreams(stream), optpreview.ProgressStreams(log), optpreview.ErrorProgressStreams(log))
		return err
	})
}

// Destroy deletes all resources of the layer. The stack stays, with its configuration.
func (p Project) Destroy(ctx context.Context, progress Progress) (Summary, error) {
	return p.run(ctx, progress, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		_, err := stack.Destroy(ctx, optdestroy.EventStreams(stream), optdestroy.ProgressStreams(log), optdestroy.ErrorProgressStreams(log))
		return err
	})
}

func (p Project) run(ctx context.Context, progress Progress, operate operation) (Summary, error) {
	tell := func(operation, resource string) {
		switch {
		case progress == nil:
		case ctx.Err() != nil:
			progress("interrupted; Ctrl-C again ends at once; waiting for Pulumi to finish", strings.TrimSpace(operation+" "+resource))
		default:
			progress(operation, resource)
		}
	}
	stop := context.AfterFunc(ctx, func() { tell("what it has begun", "") })
	defer stop()
	// The Kubernetes plugin leaves kubeconfigs behind in the folder for temporary files.
	temp, err := os.MkdirTemp("", "strata-layer-")
	if err != nil {
		return Summary{}, p.wrap(err, nil)
	}
	defer os.RemoveAll(temp)
	// The engineer decides which stack is selected in the folder, so the selection must not change.
	stack, err := auto.SelectStackLocalSource(ctx, p.Stack, p.Dir,
		auto.Pulumi(frugal{p.Command, true}), auto.EnvVars(map[string]string{"TMPDIR": temp}))
	if err != nil {
		return Summary{}, p.wrap(err, nil)
	}
	if err := os.MkdirAll(filepath.Dir(p.Log), 0o700); err != nil {
		return Summary{}, p.wrap(err, nil)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return Summary{}, p.wrap(err, nil)
	}
	defer log.Close()
	seen, err := watch(stack, tell, log, operate)
	if ctx.Err() != nil {
		return Summary{}, fmt.Errorf("run layer %s, stack %s: %w", p.Name, p.Stack, ctx.Err())
	}
	if err != nil {
		return Summary{}, fmt.Errorf("%w%s", p.wrap(err, seen.diagnostics), p.left(ctx))
	}
	return Summary{Changes: seen.changes, Engine: seen.engine}, nil
}

// Pulumi runs a command of pulumi on the stack and returns its output. Its error is pulumi's message in one line.
func (p Project) Pulumi(ctx context.Context, args ...string) (string, error) {
	stdout, stderr, _, err := p.Command.Run(ctx, p.Dir, nil, nil, nil, nil, append(args, "--stack", p.Stack, "--non-interactive")...)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", brief(fmt.Errorf("%w\nstderr: %s", err, stderr))
	}
	return stdout, nil
}

func (p Project) wrap(err error, diagnostics []string) error {
	next := "mend that and run it again, what is done stays done"
	if auto.IsConcurrentUpdateError(err) {
		next = fmt.Sprintf("wait for the run that holds the lock; if that was killed, run `%s`, then `%s`, then this again", p.Line("cancel --yes"), p.Line("refresh"))
	}
	if len(diagnostics) > 0 {
		err = errors.New(strings.Join(diagnostics, "; "))
	} else {
		err = brief(err)
	}
	return fmt.Errorf("run layer %s, stack %s: %w: %s (pulumi's own output: %s)", p.Name, p.Stack, err, next, p.Log)
}

// left returns advice about the pending operations of a killed run in the state, or "" if there are none.
func (p Project) left(ctx context.Context) string {
	text, err := p.Pulumi(ctx, "stack", "export")
	var exported apitype.UntypedDeployment
	if err != nil || json.Unmarshal([]byte(text), &exported) != nil {
		return ""
	}
	state, err := settle.ParseDeployment(exported.Deployment)
	if err != nil || !state.Interrupted() {
		return ""
	}
	return fmt.Sprintf("; a run that was killed has left open whether it made something: run `%s` and answer for each", p.Line("refresh"))
}

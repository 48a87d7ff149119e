package layers

import (
	"context"
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
)

// Project is a layer as a Pulumi project in a folder, with the login, the stack and the configuration that the engineer's own
// pulumi has there.
type Project struct {
	// Name is what people call the layer, Dir the folder of its Pulumi.yaml.
	Name, Dir string
	// Stack is the name of the stack. It has to exist.
	Stack string
	// Command is the engineer's pulumi.
	Command auto.PulumiCommand
	// Log is the file that gets pulumi's own output; its folder is made where there is none.
	Log string
}

// Up brings the layer's resources to what its program says.
func (p Project) Up(ctx context.Context, progress Progress) (Summary, error) {
	return p.run(ctx, progress, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		_, err := stack.Up(ctx, optup.EventStreams(stream), optup.SuppressOutputs(), optup.ProgressStreams(log), optup.ErrorProgressStreams(log))
		return err
	})
}

// Preview tells what Up would do.
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
	if progress == nil {
		progress = func(string, string) {}
	}
	// The Kubernetes plugin leaves kubeconfigs in the folder for temporary files.
	temp, err := os.MkdirTemp("", "strata-layer-")
	if err != nil {
		return Summary{}, p.wrap(err, nil)
	}
	defer os.RemoveAll(temp)
	// Which stack is selected in the folder is the engineer's choice: it stays.
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
	seen, err := watch(stack, progress, log, operate)
	if ctx.Err() != nil {
		return Summary{}, fmt.Errorf("run layer %s, stack %s: %w", p.Name, p.Stack, ctx.Err())
	}
	if err != nil {
		return Summary{}, p.wrap(err, seen.diagnostics)
	}
	return Summary{Changes: seen.changes, Engine: seen.engine}, nil
}

// Pulumi runs a command of pulumi on the stack and returns what it prints. Its error is what pulumi says, in one line.
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
	if len(diagnostics) > 0 {
		err = errors.New(strings.Join(diagnostics, "; "))
	} else {
		err = brief(err)
	}
	return fmt.Errorf("run layer %s, stack %s: %w: mend that and run it again, what is done stays done (pulumi's own output: %s)",
		p.Name, p.Stack, err, p.Log)
}

// Package layers runs the Pulumi layers in process: it gives a layer's program to the Pulumi engine by the Automation
// API, as `pulumi up` in the layer's folder would.
package layers

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/pending"
)

// Layer is a Pulumi program with its configuration.
type Layer struct {
	// Name is what people call the layer, Project its Pulumi project.
	Name, Project string
	Program       pulumi.RunFunc
	// Config is the configuration of the stack; it is complete, nothing of an earlier run stays.
	Config auto.ConfigMap
}

// Runner says where and as whom layers run.
type Runner struct {
	// Stack is the name of the stack in every layer's project: the environment.
	Stack string
	// Pulumi is the folder whose bin folder holds the pulumi command.
	Pulumi string
	// Env are the variables that every run gets, the backend and the passphrase among them.
	Env map[string]string
	// WorkDir returns the folder for a layer's project and stack settings.
	WorkDir func(layer string) string
	// Unlock is called where another run holds the lock of a project's stack. It tells whether the lock is free now, and
	// worth another try. Nil means that it is not.
	Unlock func(ctx context.Context, project string) (bool, error)
	// Lost is told of the creations that a killed run has left, before they are settled. It deletes what there is of them
	// that the next run would not find, such as keys, but for what the state holds by its ID. Nil does nothing.
	Lost func(ctx context.Context, creations []pending.Creation, held func(id string) bool) error
}

// Summary is what an operation did.
type Summary struct {
	// Changes counts resources by what was done to them: create, update, delete, replace, same.
	Changes map[string]int
	// Engine is the time within Pulumi's engine: without what comes before and after it, such as setting the configuration.
	Engine time.Duration
}

// String names the changes, for example "12 created, 3 unchanged".
func (s Summary) String() string {
	names := []struct{ op, text string }{
		{"create", "created"}, {"update", "updated"}, {"replace", "replaced"}, {"delete", "deleted"}, {"same", "unchanged"},
	}
	var parts []string
	for _, n := range names {
		if count := s.Changes[n.op]; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, n.text))
		}
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

// Progress is told of every resource that an operation turns to: what is done ("create"), and its type and name.
type Progress func(operation, resource string)

// Up brings a layer's resources to what its program says.
func (r Runner) Up(ctx context.Context, l Layer, progress Progress) (Summary, error) {
	return r.run(ctx, l, progress, kind{settles: true}, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		_, err := stack.Up(ctx, optup.EventStreams(stream), optup.SuppressOutputs(), optup.ProgressStreams(log), optup.ErrorProgressStreams(log))
		return err
	})
}

// Preview tells what Up would do. What a killed run left open stays so.
func (r Runner) Preview(ctx context.Context, l Layer, progress Progress) (Summary, error) {
	return r.run(ctx, l, progress, kind{}, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		_, err := stack.Preview(ctx, optpreview.EventStreams(stream), optpreview.ProgressStreams(log), optpreview.ErrorProgressStreams(log))
		return err
	})
}

// Refresh brings the state of a layer in line with what there is, without changing that.
func (r Runner) Refresh(ctx context.Context, l Layer, progress Progress) error {
	refresh := func(runProgram bool) operation {
		return func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
			_, err := stack.Refresh(ctx, optrefresh.EventStreams(stream), optrefresh.ProgressStreams(log), optrefresh.ErrorProgressStreams(log),
				optrefresh.RunProgram(runProgram))
			return err
		}
	}
	_, err := r.run(ctx, l, progress, kind{settles: true, renewed: refresh(true)}, refresh(false))
	return err
}

// Destroy deletes all resources of a layer, and the stack.
func (r Runner) Destroy(ctx context.Context, l Layer, progress Progress) (Summary, error) {
	destroy := func(runProgram bool) operation {
		return func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
			_, err := stack.Destroy(ctx, optdestroy.EventStreams(stream), optdestroy.ProgressStreams(log), optdestroy.ErrorProgressStreams(log),
				optdestroy.Remove(), optdestroy.RunProgram(runProgram))
			return err
		}
	}
	return r.run(ctx, l, progress, kind{settles: true, destroys: true, renewed: destroy(true)}, destroy(false))
}

// Prepare makes the stack where there is none and sets its configuration, so that others can run it.
func (r Runner) Prepare(ctx context.Context, l Layer) error {
	_, err := r.prepare(ctx, l)
	return err
}

// Package layers runs the Pulumi layers in process: it gives a layer's program to the Pulumi engine by the Automation
// API, as `pulumi up` in the layer's folder would.
package layers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
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
}

// Summary is what an operation did.
type Summary struct {
	// Changes counts resources by what was done to them: create, update, delete, replace, same.
	Changes map[string]int
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
	var summary Summary
	err := r.run(ctx, l, progress, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		result, err := stack.Up(ctx, optup.EventStreams(stream), optup.SuppressOutputs(), optup.ProgressStreams(log), optup.ErrorProgressStreams(log))
		if err == nil && result.Summary.ResourceChanges != nil {
			summary.Changes = *result.Summary.ResourceChanges
		}
		return err
	})
	return summary, err
}

// Preview tells what Up would do.
func (r Runner) Preview(ctx context.Context, l Layer, progress Progress) (Summary, error) {
	var summary Summary
	err := r.run(ctx, l, progress, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		result, err := stack.Preview(ctx, optpreview.EventStreams(stream), optpreview.ProgressStreams(log), optpreview.ErrorProgressStreams(log))
		summary.Changes = map[string]int{}
		for op, count := range result.ChangeSummary {
			summary.Changes[string(op)] = count
		}
		return err
	})
	return summary, err
}

// Destroy deletes all resources of a layer, and the stack.
func (r Runner) Destroy(ctx context.Context, l Layer, progress Progress) (Summary, error) {
	var summary Summary
	err := r.run(ctx, l, progress, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		result, err := stack.Destroy(ctx, optdestroy.EventStreams(stream), optdestroy.ProgressStreams(log), optdestroy.ErrorProgressStreams(log), optdestroy.Remove())
		if err == nil && result.Summary.ResourceChanges != nil {
			summary.Changes = *result.Summary.ResourceChanges
		}
		return err
	})
	return summary, err
}

// Outputs returns the outputs that a layer's last run left; none where it has not run.
func (r Runner) Outputs(ctx context.Context, l Layer) (auto.OutputMap, error) {
	stack, err := r.open(ctx, l)
	if err != nil {
		return nil, r.wrap("read the outputs of", l, err, nil)
	}
	outputs, err := stack.Outputs(ctx)
	if err != nil {
		return nil, r.wrap("read the outputs of", l, err, nil)
	}
	return outputs, nil
}

// Prepare makes the stack where there is none and sets its configuration, so that others can run it.
func (r Runner) Prepare(ctx context.Context, l Layer) error {
	_, err := r.prepare(ctx, l)
	return err
}

func (r Runner) prepare(ctx context.Context, l Layer) (auto.Stack, error) {
	stack, err := r.open(ctx, l)
	if err != nil {
		return stack, r.wrap("open", l, err, nil)
	}
	if err := r.configure(ctx, stack, l.Config); err != nil {
		return stack, r.wrap("configure", l, err, nil)
	}
	return stack, nil
}

// run opens the stack, sets its configuration and does one operation, with pulumi's own output in a log.
func (r Runner) run(ctx context.Context, l Layer, progress Progress, operate func(auto.Stack, chan<- events.EngineEvent, *os.File) error) error {
	if progress == nil {
		progress = func(string, string) {}
	}
	stack, err := r.prepare(ctx, l)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(r.WorkDir(l.Name), "pulumi.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return r.wrap("log", l, err, nil)
	}
	defer log.Close()
	diagnostics, err := watch(stack, progress, log, operate)
	if err != nil && r.Unlock != nil && auto.IsConcurrentUpdateError(err) {
		progress("waiting for", "the run that holds the stack's lock")
		free, unlockErr := r.Unlock(ctx, l.Project)
		if unlockErr != nil {
			return r.wrap("unlock", l, unlockErr, nil)
		}
		if free {
			diagnostics, err = watch(stack, progress, log, operate)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("run layer %s, stack %s: %w", l.Name, r.Stack, ctx.Err())
		}
		return r.wrap("run", l, err, diagnostics)
	}
	return nil
}

// streamGrace is how long the engine's last events may take to arrive after an operation has returned.
const streamGrace = 2 * time.Second

// watch does one operation while it reads the engine's events, and returns the errors among them.
func watch(stack auto.Stack, progress Progress, log *os.File, operate func(auto.Stack, chan<- events.EngineEvent, *os.File) error) ([]string, error) {
	stream := make(chan events.EngineEvent)
	read := make(chan struct{})
	var mu sync.Mutex
	var diagnostics []string
	go func() {
		defer close(read)
		for e := range stream {
			switch {
			case e.ResourcePreEvent != nil && e.ResourcePreEvent.Metadata.Op != apitype.OpSame:
				progress(string(e.ResourcePreEvent.Metadata.Op), resourceName(e.ResourcePreEvent.Metadata.URN))
			case e.DiagnosticEvent != nil && e.DiagnosticEvent.Severity == "error":
				if text := diagnostic(e.DiagnosticEvent); text != "" {
					mu.Lock()
					diagnostics = append(diagnostics, text)
					mu.Unlock()
				}
			}
		}
	}()
	err := operate(stack, stream, log)
	// The Automation API closes the stream, but not where it fails before it has begun to follow the engine.
	select {
	case <-read:
	case <-time.After(streamGrace):
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(diagnostics), err
}

// open makes or selects the stack in its backend.
func (r Runner) open(ctx context.Context, l Layer) (auto.Stack, error) {
	dir := r.WorkDir(l.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return auto.Stack{}, err
	}
	command, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: r.Pulumi})
	if err != nil {
		return auto.Stack{}, err
	}
	return auto.UpsertStackInlineSource(ctx, r.Stack, l.Project, l.Program, auto.WorkDir(dir), auto.EnvVars(r.Env), auto.Pulumi(command))
}

// wrap names the layer, and puts the engine's own diagnostics in the place of what the Automation API makes of them.
func (r Runner) wrap(tried string, l Layer, err error, diagnostics []string) error {
	if len(diagnostics) > 0 {
		err = errors.New(strings.Join(diagnostics, "; "))
	} else {
		err = brief(err)
	}
	return fmt.Errorf("%s layer %s, stack %s: %w (pulumi's own output: %s)", tried, l.Name, r.Stack, err, filepath.Join(r.WorkDir(l.Name), "pulumi.log"))
}

// Package early starts the engine of a layer while a lower layer still runs.
package early

import (
	"context"
	"errors"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/layers"
)

// Runner runs a layer, as [layers.Runner] does.
type Runner interface {
	Up(ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error)
	Preview(ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error)
	Refresh(ctx context.Context, l layers.Layer, progress layers.Progress) error
	Destroy(ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error)
	Outputs(ctx context.Context, l layers.Layer) (auto.OutputMap, error)
	MaskedOutputs(ctx context.Context, l layers.Layer) (map[string]any, error)
}

// Run is the Runner of layer 2 whose up begins while layer 1 still runs. Pulumi's engine starts, takes the lock of the
// stack and decrypts the stack's state; this takes half of an up without changes. Then the layer's program waits for Up.
// Without the program, the engine neither starts a provider nor changes a resource.
//
// Up lets the waiting program run. Refresh and Destroy need the lock of the stack, so they first end the waiting up.
type Run struct {
	Runner

	// open is closed when the program may run, and refused when it must not.
	open, refused chan struct{}
	// waiting is closed when the program is called, and done when the operation has ended.
	waiting, done chan struct{}
	// once closes open or refused.
	once sync.Once

	// progress is set before open is closed. summary and err are set before done is closed.
	progress layers.Progress
	summary  layers.Summary
	err      error
}

// errRefused is the error of a program that must not run.
var errRefused = errors.New("strata did not begin this run: a lower layer failed, or this layer has to be refreshed first")

// Begin begins the up of a layer. The caller calls End.
func Begin(ctx context.Context, runner Runner, layer layers.Layer) *Run {
	e := &Run{
		Runner: runner,
		open:   make(chan struct{}), refused: make(chan struct{}), waiting: make(chan struct{}), done: make(chan struct{}),
	}
	layer.Program = e.gated(ctx, layer.Program)
	go func() {
		defer close(e.done)
		e.summary, e.err = runner.Up(ctx, layer, e.tell)
	}()
	return e
}

// gated returns a program that waits until Up is called, and then runs program.
func (e *Run) gated(ctx context.Context, program pulumi.RunFunc) pulumi.RunFunc {
	var once sync.Once
	return func(pulumiContext *pulumi.Context) error {
		once.Do(func() { close(e.waiting) })
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-e.refused:
			return errRefused
		case <-e.open:
			return program(pulumiContext)
		}
	}
}

// tell passes the progress on to the caller of Up.
func (e *Run) tell(operation, resource string) {
	if closed(e.open) {
		e.progress(operation, resource)
	}
}

// Up lets the waiting program run, and returns the result of the operation. If the operation ended before its program was
// called, Up runs the layer again: nothing was changed, and layer 1 may have removed the cause of the error since.
func (e *Run) Up(ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error) {
	select {
	case <-e.waiting:
	case <-e.done:
	}
	e.once.Do(func() {
		if e.progress = progress; progress == nil {
			e.progress = func(string, string) {}
		}
		close(e.open)
	})
	<-e.done
	if closed(e.waiting) && !closed(e.refused) {
		return e.summary, e.err
	}
	return e.Runner.Up(ctx, l, progress)
}

// Refresh ends the waiting up and refreshes the layer.
func (e *Run) Refresh(ctx context.Context, l layers.Layer, progress layers.Progress) error {
	e.End()
	return e.Runner.Refresh(ctx, l, progress)
}

// Destroy ends the waiting up and destroys the layer.
func (e *Run) Destroy(ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error) {
	e.End()
	return e.Runner.Destroy(ctx, l, progress)
}

// End returns when the operation has ended. A program that still waits does not run.
func (e *Run) End() {
	e.once.Do(func() { close(e.refused) })
	e.Wait()
}

// Wait returns when the operation has ended.
func (e *Run) Wait() { <-e.done }

func closed(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	default:
		return false
	}
}

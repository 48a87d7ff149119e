package layers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// kind describes an operation.
type kind struct {
	// settles says that the operation first settles the pending operations of a killed run. destroys says that it deletes the
	// resources.
	settles, destroys bool
	// renewed is the same operation with the credentials that the program gives to its providers, instead of those in the
	// state. It is nil if the operation uses the program's credentials anyway.
	renewed operation
}

type operation func(auto.Stack, chan<- events.EngineEvent, *os.File) error

func (r Runner) prepare(ctx context.Context, l Layer) (auto.Stack, error) {
	stack, err := r.openFor(ctx, l, true)
	if err != nil {
		return stack, r.wrap("open", l, err, nil)
	}
	if err := l.source().configure(ctx, r, stack); err != nil {
		return stack, r.wrap("configure", l, err, nil)
	}
	return stack, nil
}

// run opens the stack, sets its configuration and runs one operation. It writes pulumi's own output to a log.
func (r Runner) run(ctx context.Context, l Layer, progress Progress, kind kind, operate operation) (Summary, error) {
	if progress == nil {
		progress = func(string, string) {}
	}
	progress, stop := l.source().follow(ctx, progress)
	defer stop()
	stack, err := r.prepare(ctx, l)
	if err != nil {
		return Summary{}, err
	}
	log, err := os.OpenFile(r.log(l), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return Summary{}, r.wrap("log", l, err, nil)
	}
	defer log.Close()
	if kind.settles {
		if err := l.source().settle(ctx, r, stack, progress, log, kind.destroys); err != nil {
			return Summary{}, r.wrap("settle the pending operations of", l, err, nil)
		}
	}
	seen, err := watch(stack, progress, log, operate)
	if err != nil && r.Unlock != nil && auto.IsConcurrentUpdateError(err) {
		progress("waiting for", "the run that holds the stack's lock")
		free, unlockErr := r.Unlock(ctx, l.Project)
		if unlockErr != nil {
			return Summary{}, r.wrap("unlock", l, unlockErr, nil)
		}
		if free {
			seen, err = watch(stack, progress, log, operate)
		}
	}
	if err != nil && ctx.Err() == nil && kind.renewed != nil && loginRejected(err) {
		progress("renew", "the rejected credentials in the state")
		seen, err = watch(stack, progress, log, kind.renewed)
	}
	if err != nil {
		if ctx.Err() != nil {
			return Summary{}, fmt.Errorf("run layer %s, stack %s: %w", l.Name, r.Stack, ctx.Err())
		}
		return Summary{}, fmt.Errorf("%w%s", r.wrap("run", l, err, seen.diagnostics), l.source().advice(ctx, r, stack))
	}
	return Summary{Changes: seen.changes, Engine: seen.engine}, nil
}

// seen is the content of the engine's events of an operation.
type seen struct {
	diagnostics []string
	changes     map[string]int
	engine      time.Duration
}

// streamGrace is how long the engine's last events may take to arrive after an operation has returned.
const streamGrace = 2 * time.Second

// watch runs one operation and reads the engine's events.
func watch(stack auto.Stack, progress Progress, log *os.File, operate operation) (seen, error) {
	stream := make(chan events.EngineEvent)
	read := make(chan struct{})
	var mu sync.Mutex
	result := seen{changes: map[string]int{}}
	go func() {
		defer close(read)
		for e := range stream {
			if e.ResourcePreEvent != nil && e.ResourcePreEvent.Metadata.Op != apitype.OpSame {
				progress(string(e.ResourcePreEvent.Metadata.Op), resourceName(e.ResourcePreEvent.Metadata.URN))
			}
			// The other warnings are about the plugins themselves: the local target has its own on PATH.
			if d := e.DiagnosticEvent; d != nil && d.Severity == "warning" && d.URN != "" {
				progress("warning:", diagnostic(d))
			}
			mu.Lock()
			result.add(e)
			mu.Unlock()
		}
	}()
	began := time.Now()
	err := operate(stack, stream, log)
	took := time.Since(began)
	// The Automation API closes the stream, unless it fails before it starts to read the engine's events.
	select {
	case <-read:
	case <-time.After(streamGrace):
	}
	mu.Lock()
	defer mu.Unlock()
	result.engine = took
	return seen{result.diagnostics, result.changes, result.engine}, err
}

func (s *seen) add(e events.EngineEvent) {
	switch {
	case e.DiagnosticEvent != nil && e.DiagnosticEvent.Severity == "error":
		if text := diagnostic(e.DiagnosticEvent); text != "" {
			s.diagnostics = append(s.diagnostics, text)
		}
	case e.SummaryEvent != nil:
		for op, count := range e.SummaryEvent.ResourceChanges {
			s.changes[string(op)] = count
		}
	}
}

// patiently returns a Progress that also says what happens after an interrupt: [Patient] waits for Pulumi. The caller
// calls stop.
func patiently(ctx context.Context, progress Progress) (tell Progress, stop func() bool) {
	tell = func(operation, resource string) {
		if ctx.Err() != nil {
			operation, resource = "interrupted (Ctrl-C again stops at once): waiting for Pulumi to finish", strings.TrimSpace(operation+" "+resource)
		}
		progress(operation, resource)
	}
	return tell, context.AfterFunc(ctx, func() { tell("operations that have begun", "") })
}

// open creates or selects the stack in its backend.
func (r Runner) open(ctx context.Context, l Layer) (auto.Stack, error) {
	return r.openFor(ctx, l, false)
}

// openFor opens the stack. If operation is true, the stack is for an operation only and cannot return its outputs.
func (r Runner) openFor(ctx context.Context, l Layer, operation bool) (auto.Stack, error) {
	if err := os.MkdirAll(r.WorkDir(l.Name), 0o700); err != nil {
		return auto.Stack{}, err
	}
	command, err := r.Pulumi()
	if err != nil {
		return auto.Stack{}, fmt.Errorf("find pulumi: %w", err)
	}
	return l.source().open(ctx, r, command, operation)
}

// log returns the path of the file with pulumi's own output.
func (r Runner) log(l Layer) string { return filepath.Join(r.WorkDir(l.Name), "pulumi.log") }

// wrap adds the layer's name to an error, and replaces the Automation API's text by the engine's own diagnostics.
func (r Runner) wrap(tried string, l Layer, err error, diagnostics []string) error {
	next := "fix the cause and run it again: it continues where it stopped"
	if r.Line != nil && auto.IsConcurrentUpdateError(err) {
		next = fmt.Sprintf("wait for the run that holds the lock; if that run was killed, run `%s`, then `%s`, then this again",
			r.Line(l.Name, "cancel --yes"), r.Line(l.Name, "refresh"))
	}
	if len(diagnostics) > 0 {
		err = errors.New(strings.Join(diagnostics, "; "))
	} else {
		err = brief(err)
	}
	return fmt.Errorf("%s layer %s, stack %s: %w: %s (pulumi's own output: %s)", tried, l.Name, r.Stack, err, next, r.log(l))
}

// Call runs a command of pulumi on the stack of a project in a folder, and returns its output. Its error is pulumi's
// message in one line.
func (r Runner) Call(ctx context.Context, l Layer, args ...string) (string, error) {
	stack, err := r.open(ctx, l)
	var stdout string
	if err == nil {
		stdout, err = r.pulumi(ctx, stack, nil, args...)
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", brief(err)
	}
	return stdout, nil
}

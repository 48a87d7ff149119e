package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/pipe"
	"github.com/strata-platform/strata/operator/engine/settle"
	"github.com/strata-platform/strata/operator/environ"
)

const (
	// maxPending bounds the pending operations of an interrupted run. Pulumi processes at
	// most as many resources concurrently as spec.parallel or the number of the machine's
	// processors allows.
	maxPending = 1000

	// maxWarnings bounds the warnings of a run.
	maxWarnings = 20
)

// recover settles the pending operations of an interrupted run.
func (r *run) recover(ctx context.Context) error {
	if err := r.state().DropHalfWritten(ctx); err != nil {
		return err
	}
	err := r.settler().Settle(ctx)
	if over := (*settle.LimitError)(nil); errors.As(err, &over) {
		return r.failure(TooLarge, "%s", over)
	}
	if reasonOf(err) == StackMissing {
		return nil
	}
	return err
}

func (r *run) settler() settle.Settler {
	return settle.Settler{
		Stack:    ownStack{r},
		Project:  r.cloudProject(),
		Destroys: r.Operation == Destroy && len(r.Targets) == 0,
		Limit:    maxPending,
		Holder:   r.state().Holder,
		Tell:     func(found settle.Finding) { r.note(found.Message(events.ResourceName(found.URN))) },
	}
}

// note records a warning for the caller. note keeps at most maxWarnings.
func (r *run) note(warning string) {
	switch len(r.warnings) {
	case maxWarnings:
	case maxWarnings - 1:
		r.warnings = append(r.warnings, "further warnings are left out")
	default:
		r.warnings = append(r.warnings, message.Shorten(r.mask.Apply(warning)))
	}
}

// cloudProject returns the Google Cloud project that the provider takes from the run's environment.
func (r *run) cloudProject() string {
	return settle.Project(func(name string) string { return environ.Variable(r.env, name) })
}

// ownStack is the access of a [settle.Settler] to the stack of a run.
type ownStack struct{ run *run }

// Export implements [settle.Stack]. Export rejects a state larger than backend.MaxState.
func (s ownStack) Export(ctx context.Context) ([]byte, error) { return s.export(ctx, false) }

// export returns the state, with its secrets in plain text if reveal is true.
func (s ownStack) export(ctx context.Context, reveal bool) ([]byte, error) {
	var data []byte
	take := func(in io.Reader) (err error) {
		if data, err = io.ReadAll(io.LimitReader(in, backend.MaxState+1)); err == nil && len(data) > backend.MaxState {
			err = bounds.Exceeded("the stack's state is larger than %d bytes: %s", backend.MaxState, backend.ShrinkState)
		}
		return err
	}
	readErr, err := pipe.Receive(ctx, s.run.dir, take, func(ctx context.Context, path string) error {
		_, err := s.run.pulumi(ctx, nil, "stack", "export", "--stack", s.run.Stack, "--file", path, fmt.Sprintf("--show-secrets=%t", reveal))
		return err
	})
	if err != nil {
		return nil, err
	}
	if over := bounds.As(readErr); over != nil {
		return nil, s.run.failure(TooLarge, "%s", over)
	}
	if readErr != nil {
		return nil, fmt.Errorf("export the state of stack %q: %w", s.run.Stack, readErr)
	}
	return data, nil
}

// Import implements [settle.Stack].
func (s ownStack) Import(ctx context.Context, state []byte) error {
	_, err := s.run.pulumi(ctx, state, "stack", "import", "--stack", s.run.Stack)
	return err
}

// Refresh implements [settle.Stack].
func (s ownStack) Refresh(ctx context.Context, urns []string) error {
	args := []string{"refresh", "--skip-preview", "--suppress-progress", "--suppress-outputs", "--color", "never"}
	for _, urn := range urns {
		args = append(args, "--target", urn)
	}
	_, err := s.run.pulumi(ctx, nil, args...)
	return err
}

package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/engine/pipe"
	"github.com/strata-platform/strata/operator/engine/printed"
)

// operate runs the operation. operate first assumes that the stack exists and has no
// lock. That saves a call of pulumi, and is true for every run but a stack's first. If
// the operation fails because of a missing stack, a missing plugin or a stale lock,
// operate fixes each of these causes once and tries again.
func (r *run) operate(ctx context.Context) (*Result, error) {
	if r.Operation == Export {
		state, err := ownStack{r}.export(ctx, r.Reveal)
		return &Result{State: state}, err
	}
	tried, unlocked := false, false
	r.adopts = r.Unproven && (r.Operation == Up || r.Operation == Preview)
	if r.mayCreate() && (r.New || r.state().Missing()) {
		created, err := r.createStack(ctx)
		if err != nil {
			return nil, err
		}
		tried, r.adopts = true, r.adopts && !created
	}
	for {
		result, err := r.attempt(ctx)
		if reasonOf(err) == StackMissing && r.mayCreate() && !tried {
			if _, err = r.createStack(ctx); err == nil {
				tried, r.adopts = true, false
				r.log.Reset()
				continue
			}
		}
		if r.shared != "" && pluginMissing(err) {
			if err = r.unshare(); err == nil {
				r.log.Reset()
				continue
			}
		}
		if reasonOf(err) == Locked && r.Interrupted && staleLocks(err) && !unlocked {
			if _, err = r.pulumi(ctx, nil, "cancel", "--yes"); err == nil {
				unlocked = true
				r.log.Reset()
				continue
			}
		}
		return result, err
	}
}

// pluginMissing reports whether pulumi failed because it did not find a plugin.
func pluginMissing(err error) bool {
	failure := asError(err)
	return failure != nil && strings.Contains(failure.raw, "no resource plugin")
}

func (r *run) mayCreate() bool {
	return !r.NoCreate && (r.Operation == Up || r.Operation == Preview)
}

// createStack creates the stack. created is false if it exists already.
func (r *run) createStack(ctx context.Context) (created bool, err error) {
	args := []string{"stack", "init", r.Stack, "--no-select"}
	if r.SecretsProvider != "" {
		args = append(args, "--secrets-provider", r.SecretsProvider)
	}
	_, err = r.pulumi(ctx, nil, args...)
	if failure := asError(err); failure != nil && strings.Contains(failure.raw, "already exists") {
		r.log.Reset()
		return false, nil // A run that was killed has created it, or another Stack, or another cluster.
	}
	return err == nil, err
}

// attempt runs the operation once. The steps before it change the stack's state, and settle what a killed run left, so that the
// operation itself is one call of pulumi.
func (r *run) attempt(ctx context.Context) (*Result, error) {
	if r.Interrupted && !r.recovered {
		if err := r.recover(ctx); err != nil {
			return nil, err
		}
		r.recovered = true
	}
	if r.Options.ChangeSecretsProvider && r.Operation == Up {
		if _, err := r.pulumi(ctx, nil, "stack", "change-secrets-provider", "--stack", r.Stack, "--", r.SecretsProvider); err != nil {
			return nil, err
		}
	}
	if err := r.encrypt(ctx); err != nil {
		return nil, err
	}
	if r.Refresh && r.ExpectNoRefreshChanges && r.Operation == Up {
		if _, err := r.pulumi(ctx, nil, "refresh", "--skip-preview", "--expect-no-changes"); err != nil {
			return nil, err
		}
	}

	if err := r.approve(ctx); err != nil {
		return nil, err
	}
	log := events.NewLog(r.mask)
	switch r.Operation {
	case Drift:
		log.OfRefresh()
	case Plan:
		log.OfPreview()
	}
	stop := log.Report(r.ReportEvery, r.Working)
	output := ""
	readErr, err := pipe.Receive(ctx, r.dir, log.Read, func(ctx context.Context, path string) (err error) {
		output, err = r.pulumi(ctx, nil, append(r.arguments(r.Operation), "--event-log", path)...)
		return err
	})
	stop()
	if r.Changed != nil {
		r.Changed(log.Changed())
	}
	if err != nil {
		if failure := describe(err, log); failure != nil {
			failure.Began = log.Began()
		}
		return nil, err
	}
	outputs, fault := log.Outputs()
	if err := r.complete(readErr, fault); err != nil {
		return nil, err
	}
	result := &Result{Outputs: outputs, Changes: log.Changes(), Log: output}
	result.Drifted, result.MoreDrifted = log.Drift()
	if r.hidden != nil {
		result.Plan = log.Plan()
		result.Plan.State = r.hidden.Digest
	}
	return result, nil
}

// describe replaces the message of a failed command by that of the command's events, and returns the failure.
func describe(err error, log *events.Log) *Error {
	failure := asError(err)
	if failure == nil {
		return nil
	}
	if fault := log.Fault(printed.LastError(failure.Log) != ""); failure.Reason == Failed && fault != "" {
		failure.Message = fault
	}
	return failure
}

// complete returns an error if the result of a successful operation cannot be recorded. fault says why the outputs cannot be
// recorded.
func (r *run) complete(readErr error, fault string) error {
	if over := bounds.As(readErr); over != nil {
		fault = over.Error()
	} else if readErr != nil {
		return fmt.Errorf("read outputs of stack %q: %w", r.Stack, readErr)
	}
	if r.Operation != Up && r.Operation != Refresh {
		// Callers do not record the outputs of these operations.
		return nil
	}
	if fault == "" {
		return nil
	}
	failure := r.failure(TooLarge, "%s succeeded, and its resources stay, but %s", r.Operation, fault)
	failure.Began, failure.Done = true, true
	return failure
}

// arguments returns the command line of an operation with the request's options. It is that of the request, or a [Preview] of it.
func (r *run) arguments(operation Operation) []string {
	options, preview := r.Options, operation == Preview || operation == Plan
	// A preview before the operation would run the program twice, and nobody reads it.
	args := []string{string(operation), "--skip-preview"}
	switch {
	case preview && r.Operation == Destroy:
		args = []string{string(Destroy), "--preview-only"}
	case preview:
		args = []string{string(Preview)}
	case operation == Drift:
		args = []string{string(Refresh), "--preview-only"}
	}
	if operation != r.Operation {
		options = options.ofPreview()
	}
	args = append(args, "--suppress-progress", "--suppress-outputs", "--color", "never")
	if (r.Refresh || r.adopts) && operation != Refresh && operation != Plan {
		args = append(args, "--refresh")
	}
	if r.RunProgram && (r.Operation == Destroy || r.Operation == Refresh) {
		args = append(args, "--run-program")
	}
	for _, urn := range r.Targets {
		args = append(args, "--target", urn)
	}
	if r.TargetDependents && len(r.Targets) > 0 {
		args = append(args, "--target-dependents")
	}
	return append(args, options.arguments(operation)...)
}

// Result is the result of a successful run.
type Result struct {
	// Project and Runtime are the project's name and language.
	Project, Runtime string

	// Revision is the revision that the Source returned.
	Revision string

	// Outputs holds the stack's outputs by name.
	Outputs map[string]events.Output

	// Changes counts the resources by the step that Pulumi took: create, update, delete,
	// same and so on.
	Changes map[string]int

	// Drifted lists the resources that a Drift found to differ, at most 50. MoreDrifted counts the others.
	Drifted     []events.Drifted
	MoreDrifted int

	// Plan is the result of a Plan operation, and nil for other operations.
	Plan *events.Plan

	// State is what an Export found, as `pulumi stack export` prints it.
	State []byte

	// Log is the end of pulumi's output.
	Log string

	// Warnings lists, in one line each, what somebody should check: resources of an
	// interrupted run that may exist although the state does not list them.
	Warnings []string
}

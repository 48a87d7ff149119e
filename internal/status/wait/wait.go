// Package wait waits until a platform is ready, and ends the wait early if waiting does not help.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
)

// Wait configures the wait for a ready platform. Look, Config, Limit, Every and Call are required.
type Wait struct {
	// Look reads the state of every layer. Ready calls it repeatedly.
	Look func(context.Context) (status.Report, error)
	// Sure reads the state again after Look has reported a ready platform. It is for a Look that may lag behind the
	// cluster, as a watch does. Nil trusts Look.
	Sure func(context.Context) (status.Report, error)
	// Config returns the client configuration of the cluster, or nil without a cluster. Ready uses it to request that Flux
	// applies Kustomizations again.
	Config func(context.Context) (*rest.Config, error)
	// Runs returns an error if the platform can no longer become ready. Ready calls it before each look, and returns the
	// error. Nil means no check.
	Runs func(context.Context) error
	// Limit is the maximum duration of the wait. Every is the interval between two looks.
	Limit, Every time.Duration
	// Call is the command that shows the status, for errors.
	Call string

	// now is time.Now, except in tests.
	now func() time.Time
}

// Ready waits until every layer is ready, and returns the last report. After each look it passes the root cause to waiting.
// It returns an error after Limit, or earlier if waiting does not remove the root cause.
func (w Wait) Ready(ctx context.Context, waiting func(status.Item)) (status.Report, error) {
	if w.now == nil {
		w.now = time.Now
	}
	bounded, cancel := context.WithTimeout(ctx, w.Limit)
	defer cancel()
	var last status.Report
	var cause, failure persistence
	applier := reapplier{now: w.now}
	for {
		if ctx.Err() != nil {
			return last, ctx.Err()
		}
		if w.Runs != nil {
			if err := w.Runs(bounded); err != nil {
				return last, fmt.Errorf("wait for the platform: %w", err)
			}
		}
		report, err := w.Look(bounded)
		if err == nil && report.Ready && w.Sure != nil {
			report, err = w.Sure(bounded)
		}
		switch {
		case err == nil && report.Ready:
			return report, nil
		case err != nil && bounded.Err() == nil && failure.fails(err, w.now()):
			return last, fmt.Errorf("wait for the platform: reading its status has failed for %s: %w (try again: `%s`)", retriedTime, err, w.Call)
		case err == nil:
			last, failure = report, persistence{}
			// If the request fails, Flux applies the objects at its next interval.
			if config, err := w.Config(bounded); err == nil && config != nil {
				_ = applier.request(bounded, config, report)
			}
			root, found := report.RootCause()
			if found {
				waiting(root)
			}
			if cause.isHopeless(report, w.now()) {
				return last, fmt.Errorf("waiting does not make the platform ready: %s (all causes: `%s`)", root, w.Call)
			}
		}
		select {
		case <-time.After(w.Every):
		case <-bounded.Done():
			return last, w.timedOut(ctx, last, err)
		}
	}
}

// timedOut returns an error with the last root cause. err is the error of the last look, if it failed.
func (w Wait) timedOut(ctx context.Context, last status.Report, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if cause, found := last.RootCause(); found {
		return fmt.Errorf("the platform is not ready after %s: %s (all causes: `%s`)", w.Limit, cause, w.Call)
	}
	return fmt.Errorf("wait for the platform: %w", errors.Join(context.DeadlineExceeded, err))
}

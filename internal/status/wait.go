package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
)

// Wait configures the wait for a ready platform. Look, Config, Limit, Every and Call are required.
type Wait struct {
	// Look reads the state of every layer.
	Look func(context.Context) (Report, error)
	// Sure reads the state again if Look reports a ready platform but may be late, as a Watch may. Nil trusts Look.
	Sure func(context.Context) (Report, error)
	// Config returns the client configuration of the cluster, to ask Kustomizations to apply missing objects again; nil if
	// there is no cluster.
	Config func(context.Context) (*rest.Config, error)
	// Runs returns an error if the platform cannot become ready any more. Ready calls it before each look. Nil means no
	// check.
	Runs func(context.Context) error
	// Limit limits the wait. Every is the interval between two looks.
	Limit, Every time.Duration
	// Call is the command that shows the status.
	Call string

	// now is time.Now, except in tests.
	now func() time.Time
}

// Ready waits until every layer is ready. It fails early if waiting does not solve the root cause. It passes the root
// cause to waiting after each look. It returns the last report.
func (w Wait) Ready(ctx context.Context, waiting func(Item)) (Report, error) {
	if w.now == nil {
		w.now = time.Now
	}
	bounded, cancel := context.WithTimeout(ctx, w.Limit)
	defer cancel()
	var last Report
	var cause, failure lasting
	var asker Asker
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
			return last, fmt.Errorf("wait for the platform: looking at it has failed for %s: %w (`%s` looks again)", triedTime, err, w.Call)
		case err == nil:
			last, failure = report, lasting{}
			// If the request fails, Flux applies the objects again at the sync's interval.
			if config, err := w.Config(bounded); err == nil && config != nil {
				_ = asker.Ask(bounded, config, report)
			}
			root, found := report.RootCause()
			if found {
				waiting(root)
			}
			if cause.stands(report, w.now()) {
				return last, fmt.Errorf("the platform does not become ready by waiting: %s (`%s` has the rest)", root, w.Call)
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
func (w Wait) timedOut(ctx context.Context, last Report, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if cause, found := last.RootCause(); found {
		return fmt.Errorf("the platform is not ready after %s: %s (`%s` has the rest)", w.Limit, cause, w.Call)
	}
	return fmt.Errorf("wait for the platform: %w", errors.Join(context.DeadlineExceeded, err))
}

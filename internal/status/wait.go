package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
)

// Wait says how to wait until a platform is ready. Look, Config, Limit, Every and Call are needed.
type Wait struct {
	// Look looks at every layer.
	Look func(context.Context) (Report, error)
	// Sure looks once more where Look finds that all is ready, but may be late: a Watch may. Nil trusts Look.
	Sure func(context.Context) (Report, error)
	// Config reaches the cluster, where Kustomizations are asked to apply again what is gone.
	Config func(context.Context) (*rest.Config, error)
	// Runs is an error once nothing can make the platform ready any more. It is asked before each look; nil asks nothing.
	Runs func(context.Context) error
	// Limit bounds the wait. Every is the time between two looks.
	Limit, Every time.Duration
	// Call is the command that shows the status.
	Call string

	// now is time.Now, but in tests.
	now func() time.Time
}

// Ready waits until every layer is ready. It fails early when the root cause is one that waiting does not resolve. waiting is
// told the root cause after each look. The report is the last one.
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
			// What cannot be asked for comes with the interval of its sync.
			if config, err := w.Config(bounded); err == nil {
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

// timedOut says what was waited for last; err is why the last look failed, where it did.
func (w Wait) timedOut(ctx context.Context, last Report, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if cause, found := last.RootCause(); found {
		return fmt.Errorf("the platform is not ready after %s: %s (`%s` has the rest)", w.Limit, cause, w.Call)
	}
	return fmt.Errorf("wait for the platform: %w", errors.Join(context.DeadlineExceeded, err))
}

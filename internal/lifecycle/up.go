package lifecycle

import (
	"context"
	"errors"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle/early"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/wait"
)

// Up runs every layer and waits until what is ready. It can run again at any time, and skips finished work. If only a team is
// not ready, the error is a [*wait.TeamsError].
func (p *Platform) Up(ctx context.Context, show *progress.Reporter, what wait.For) (status.Report, error) {
	var report status.Report
	// The check comes first and changes nothing, so Up does not change a machine on which it cannot finish.
	if err := p.run(ctx, show, []Step{p.Check()}); err != nil {
		return report, err
	}
	release, err := p.Lock()
	if err != nil {
		return report, err
	}
	defer release()
	if err := p.continueUpgrade(show); err != nil {
		return report, err
	}
	if err := p.Orders().RefuseEarly(ctx, PlatformLayer); err != nil {
		return report, err
	}
	both := &pair{Platform: p}
	defer both.end()
	steps := append(p.Prepare(true),
		Step{Name: "layer 1: bootstrap", Do: func(ctx context.Context, show *progress.Reporter) (string, error) {
			// A stopped cluster could not be asked before.
			if err := p.Orders().RefuseEarly(ctx, PlatformLayer); err != nil {
				return "", err
			}
			if err := p.endFormer(ctx, show); err != nil {
				return "", err
			}
			summary, err := both.first(ctx, detail(show))
			return summary.String(), err
		}},
		Step{Name: "layer 2: platform", Do: func(ctx context.Context, show *progress.Reporter) (string, error) {
			summary, err := both.second(ctx, detail(show))
			return summary.String(), err
		}},
		Step{Name: "layers 3 and 4: Flux and the operator", Do: func(ctx context.Context, show *progress.Reporter) (string, error) {
			var err error
			report, err = p.WaitReady(ctx, what, func(i status.Item) { show.Detail("waiting for %s", i) })
			if len(report.Items) > 0 && report.Platform().Ready {
				err = errors.Join(err, p.Journal().EndUpgrade())
			}
			if !report.Ready {
				return "the platform is ready, and a team is not yet", err
			}
			return "everything is ready", err
		}},
	)
	return report, p.run(ctx, show, steps)
}

// pair runs layers 1 and 2. If the target allows it, the engine of layer 2 starts while layer 1 runs.
type pair struct {
	*Platform
	// above is layer 2 with its early run; early is nil if there is none. release releases both layers.
	above   Run
	early   *early.Run
	release func()
}

// first runs layer 1.
func (both *pair) first(ctx context.Context, progress layers.Progress) (layers.Summary, error) {
	run, release, err := both.Hold(ctx, BootstrapLayer)
	if err != nil {
		return layers.Summary{}, err
	}
	both.release = release
	both.begin(ctx, run)
	summary, err := both.operateHeld(ctx, run, progress, both.upOperation())
	if both.early == nil {
		both.end()
	}
	return summary, err
}

// begin begins the run of layer 2 early. An interrupted down may have left less than the state of layer 2 contains, so
// that the run needs more than the engine.
func (both *pair) begin(ctx context.Context, run Run) {
	if _, begun := both.Journal().DownBegun(); begun || run.Above == nil {
		return
	}
	above, remove, ok := run.Above(ctx)
	if !ok {
		return
	}
	both.early = early.Begin(ctx, above.Runner, above.Layer)
	above.Runner = both.early
	release := both.release
	both.above, both.release = above, func() {
		both.early.End()
		remove()
		release()
	}
}

// second runs layer 2, with the same checks whether or not its run has begun.
func (both *pair) second(ctx context.Context, progress layers.Progress) (layers.Summary, error) {
	if both.early == nil {
		return both.operate(ctx, PlatformLayer, progress, both.upOperation())
	}
	defer both.end()
	return both.operateHeld(ctx, both.above, progress, both.upOperation())
}

// end releases the layers. A run of layer 2 that still waits ends without changes.
func (both *pair) end() {
	if both.release != nil {
		both.release()
		both.release = nil
	}
}

package lifecycle

import (
	"context"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
)

// Up runs every layer and waits until everything is ready. It can run again at any time, and skips finished work.
func (p *Platform) Up(ctx context.Context, show *progress.Reporter) (status.Report, error) {
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
	steps := append(p.Prepare(true),
		Step{Name: "layer 1: bootstrap", Do: func(ctx context.Context, show *progress.Reporter) (string, error) {
			if err := p.endFormer(ctx, show); err != nil {
				return "", err
			}
			return p.upLayer(ctx, show, BootstrapLayer)
		}},
		Step{Name: "layer 2: platform", Do: func(ctx context.Context, show *progress.Reporter) (string, error) {
			return p.upLayer(ctx, show, PlatformLayer)
		}},
		Step{Name: "layers 3 and 4: Flux and the operator", Do: func(ctx context.Context, show *progress.Reporter) (string, error) {
			var err error
			report, err = p.WaitReady(ctx, func(i status.Item) { show.Detail("waiting for %s", i) })
			return "everything is ready", err
		}},
	)
	return report, p.run(ctx, show, steps)
}

func (p *Platform) upLayer(ctx context.Context, show *progress.Reporter, layer string) (string, error) {
	summary, err := p.operate(ctx, layer, detail(show), p.upOperation())
	return summary.String(), err
}

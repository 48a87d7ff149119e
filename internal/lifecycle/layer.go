package lifecycle

import (
	"context"
	"fmt"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/terminal"
)

// operation is an operation on a layer.
type operation struct {
	// verb names the operation, for example "up".
	verb string
	// repositories says that the operation needs up-to-date repositories of the platform.
	repositories bool
	// guard returns an error if the operation must not run now. Nil means that it always may.
	guard func(ctx context.Context, layer string) error
	do    func(context.Context, Run, layers.Progress) (layers.Summary, error)
}

// LayerUp runs one layer, and shows it as a step. Before, it reverts the effects of an interrupted down. It returns an
// error, and changes nothing, while a team that is no longer in teams.yaml has Stacks.
func (p *Platform) LayerUp(ctx context.Context, show *progress.Reporter, layer string) (layers.Summary, error) {
	return p.runAlone(ctx, show, layer, p.upOperation())
}

// LayerPreview returns what LayerUp would do, and shows it as a step.
func (p *Platform) LayerPreview(ctx context.Context, show *progress.Reporter, layer string) (layers.Summary, error) {
	return p.runAlone(ctx, show, layer, p.previewOperation())
}

// PreviewHeld is LayerPreview for a caller that has the lock and has prepared the machine. It shows nothing itself.
func (p *Platform) PreviewHeld(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error) {
	return p.operate(ctx, layer, progress, p.previewOperation())
}

// UpHeld is LayerUp for a caller that has the lock and has prepared the machine. It shows nothing itself.
func (p *Platform) UpHeld(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error) {
	return p.operate(ctx, layer, progress, p.upOperation())
}

// previewVerb is the verb of the operation that changes nothing.
const previewVerb = "preview"

// previewOperation returns the operation that previews a layer's program.
func (p *Platform) previewOperation() operation {
	return operation{verb: previewVerb, guard: p.refuseBreaking, do: func(ctx context.Context, run Run, progress layers.Progress) (layers.Summary, error) {
		if err := warn(ctx, run.Drift, progress, "up installs it again"); err != nil {
			return layers.Summary{}, err
		}
		return run.Runner.Preview(ctx, run.Layer, progress)
	}}
}

// mostReason bounds the text of an error in a warning, in characters.
const mostReason = 300

// warn shows each clause that look returns as a warning. A cluster that cannot be compared ends no run: whatever is wrong with it shows
// there.
func warn(ctx context.Context, look func(context.Context) ([]string, error), progress layers.Progress, then string) error {
	if look == nil || progress == nil {
		return nil
	}
	found, err := look(ctx)
	for _, clause := range found {
		progress("warning:", clause+": "+then)
	}
	if err != nil && ctx.Err() == nil {
		progress("warning:", "the cluster was not compared with the state: "+terminal.Line(err.Error(), mostReason))
	}
	return ctx.Err()
}

// LayerDestroy deletes the resources of one layer, and shows it as a step. For a layer that never ran, it only says so. It
// refuses, and changes nothing, while other resources need the layer for their own deletion, and while resources are
// protected.
func (p *Platform) LayerDestroy(ctx context.Context, show *progress.Reporter, layer string) (layers.Summary, error) {
	if !p.Made(layer) {
		show.Note("layer %s has never run: there is nothing to destroy", layer)
		return layers.Summary{}, nil
	}
	return p.runAlone(ctx, show, layer, operation{verb: "destroy", guard: p.destroyable, do: destroy})
}

// runAlone runs an operation on a layer outside of Up and Down: it locks the platform and prepares the machine itself. The
// step shows each resource that the engine processes: the current one on a terminal, a line for each elsewhere.
func (p *Platform) runAlone(ctx context.Context, show *progress.Reporter, layer string, op operation) (summary layers.Summary, err error) {
	// The preparation may start processes, even for a preview, so the lock covers it, too.
	release, err := p.Lock()
	if err != nil {
		return layers.Summary{}, err
	}
	defer release()
	if layer == PlatformLayer && op.verb == "up" {
		err = p.Orders().RefuseEarly(ctx, layer)
	}
	if err != nil {
		return layers.Summary{}, err
	}
	if err := p.prepareLayer(ctx, show, op.repositories); err != nil {
		return layers.Summary{}, err
	}
	err = show.Run(op.verb+" layer "+layer, func() (string, error) {
		summary, err = p.operate(ctx, layer, func(operation, resource string) {
			if show.Terminal() {
				show.Detail("%s %s", operation, resource)
			} else {
				show.Note("%s %s", operation, resource)
			}
		}, op)
		return fmt.Sprintf("%s (%.1fs in Pulumi)", summary, summary.Engine.Seconds()), err
	})
	return summary, err
}

// prepareLayer prepares the run of a single layer. With repositories, it also updates the platform's repositories.
func (p *Platform) prepareLayer(ctx context.Context, show *progress.Reporter, repositories bool) error {
	for _, step := range p.Prepare(repositories) {
		if err := show.RunShort(step.Name, func() (string, error) { return step.Do(ctx, show) }); err != nil {
			return err
		}
	}
	return nil
}

// operate runs an operation on a layer while no other run holds the layer. If the guard returns an error, nothing is
// changed.
func (p *Platform) operate(ctx context.Context, layer string, progress layers.Progress, op operation) (layers.Summary, error) {
	run, release, err := p.Hold(ctx, layer)
	if err != nil {
		return layers.Summary{}, err
	}
	defer release()
	return p.operateHeld(ctx, run, progress, op)
}

// operateHeld is operate for a layer that the caller holds.
func (p *Platform) operateHeld(ctx context.Context, run Run, progress layers.Progress, op operation) (layers.Summary, error) {
	if op.guard != nil {
		if err := op.guard(ctx, run.Layer.Name); err != nil {
			return layers.Summary{}, err
		}
	}
	ended := func(layers.Summary, error) {}
	if run.Began != nil && op.verb != previewVerb {
		ended = run.Began(ctx, op.verb)
	}
	summary, err := op.do(ctx, run, progress)
	ended(summary, err)
	return summary, p.interrupted(err)
}

// upOperation returns the operation that runs a layer's program.
func (p *Platform) upOperation() operation {
	return operation{verb: "up", repositories: true, guard: func(ctx context.Context, layer string) error {
		if err := p.refuseOlder(ctx, layer); err != nil {
			return err
		}
		if err := p.refuseFormer(ctx, layer); err != nil {
			return err
		}
		return p.refuseBreaking(ctx, layer)
	}, do: p.up}
}

func (p *Platform) up(ctx context.Context, run Run, progress layers.Progress) (layers.Summary, error) {
	if run.BeforeUp != nil {
		if err := run.BeforeUp(ctx); err != nil {
			return layers.Summary{}, err
		}
	}
	if err := warn(ctx, run.Mend, progress, "it is installed again"); err != nil {
		return layers.Summary{}, err
	}
	if err := p.resume(ctx, run, progress); err != nil {
		return layers.Summary{}, err
	}
	summary, err := run.Runner.Up(ctx, run.Layer, progress)
	if err == nil && run.Layer.Name == PlatformLayer {
		err = p.Journal().EndDown()
	}
	return summary, err
}

func destroy(ctx context.Context, run Run, progress layers.Progress) (layers.Summary, error) {
	summary, err := run.Runner.Destroy(ctx, run.Layer, progress)
	if err == nil && run.AfterDestroy != nil {
		err = run.AfterDestroy(ctx)
	}
	return summary, err
}

// LayerOutputs returns the outputs of one layer; none if it has not run. Secret outputs are in plain text only if secrets
// is true.
func (p *Platform) LayerOutputs(ctx context.Context, layer string, secrets bool) (map[string]any, error) {
	run, err := p.Open(ctx, layer)
	if err != nil {
		return nil, err
	}
	if !secrets {
		return run.Runner.MaskedOutputs(ctx, run.Layer)
	}
	outputs, err := run.Runner.Outputs(ctx, run.Layer)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for name, output := range outputs {
		values[name] = output.Value
	}
	return values, nil
}

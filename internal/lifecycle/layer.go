package lifecycle

import (
	"context"
	"fmt"

	"github.com/strata-platform/strata/internal/layers"
)

// operation is an operation on a layer.
type operation struct {
	// guard returns an error if the operation must not run now. Nil means that it always may.
	guard func(ctx context.Context, layer string) error
	do    func(context.Context, Run, layers.Progress) (layers.Summary, error)
}

// operate runs an operation on a layer while no other run holds the layer. If the guard returns an error, nothing is
// changed.
func (p *Platform) operate(ctx context.Context, layer string, progress layers.Progress, op operation) (layers.Summary, error) {
	run, err := p.Open(ctx, layer)
	if err != nil {
		return layers.Summary{}, err
	}
	if run.Hold != nil {
		release, err := run.Hold(ctx)
		if err != nil {
			return layers.Summary{}, fmt.Errorf("layer %s: %w", layer, err)
		}
		defer release()
	}
	if op.guard != nil {
		if err := op.guard(ctx, layer); err != nil {
			return layers.Summary{}, err
		}
	}
	summary, err := op.do(ctx, run, progress)
	return summary, p.interrupted(err)
}

// LayerUp runs one layer. Before, it reverts the effects of an interrupted down. It returns an error, and changes nothing,
// while a team that is no longer in teams.yaml has Stacks.
func (p *Platform) LayerUp(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error) {
	return p.operate(ctx, layer, progress, operation{p.refuseFormer, p.up})
}

func (p *Platform) up(ctx context.Context, run Run, progress layers.Progress) (layers.Summary, error) {
	if run.BeforeUp != nil {
		if err := run.BeforeUp(ctx); err != nil {
			return layers.Summary{}, err
		}
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

// LayerPreview returns what LayerUp would do.
func (p *Platform) LayerPreview(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error) {
	return p.operate(ctx, layer, progress, operation{do: func(ctx context.Context, run Run, progress layers.Progress) (layers.Summary, error) {
		return run.Runner.Preview(ctx, run.Layer, progress)
	}})
}

// LayerDestroy deletes the resources of one layer. It refuses, and changes nothing, while other resources need the layer
// for their own deletion, and while resources are protected.
func (p *Platform) LayerDestroy(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error) {
	return p.operate(ctx, layer, progress, operation{p.destroyable, destroy})
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

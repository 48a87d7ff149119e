package gke

import (
	"context"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
)

// lost reports whether a layer may have lost its resources together with the cluster. Pulumi does not notice such a loss, because it
// compares the program with the state. Layer 1 may have lost the cluster itself, if it does not answer. Layer 2 has lost its objects, if the cluster
// answers and does not contain the Flux that is in the layer's state.
func (p *Platform) lost(ctx context.Context, runner layers.Runner, layer layers.Layer) (bool, error) {
	config, err := p.Config(ctx, false)
	if err != nil || config == nil {
		return false, nil //nolint:nilerr // layer 1 has no usable kubeconfig: its next run outputs one
	}
	silent := answers(config) != nil
	if layer.Name == lifecycle.BootstrapLayer {
		return silent, ctx.Err()
	}
	if silent {
		return false, ctx.Err()
	}
	resource, err := flux{p, runner, layer}.resource(ctx)
	if err != nil || resource == nil {
		return false, err
	}
	installed, err := fluxSource(ctx, config)
	return err == nil && installed == "", err
}

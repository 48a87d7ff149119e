package gke

import (
	"context"
	"errors"
	"slices"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/teardown"
)

// standing is the cluster that layer 2 stands in; nil where there is none, or layer 2 has nothing in it. Layer 1 hands a
// cluster on even after it was deleted, so that only layer 2's state tells whether there is somebody to ask.
func (p *Platform) standing(ctx context.Context) (*teardown.Cluster, error) {
	resources, err := p.resources(ctx, PlatformLayer)
	if err != nil || len(resources) == 0 {
		return nil, err
	}
	cluster, err := p.teardown(ctx)
	if errors.Is(err, errNoCluster) {
		return nil, nil
	}
	return cluster, err
}

// restore undoes before layer 2's up what a `down` that did not come to its end has begun, and tells whether the layer has to
// be compared with what there is: its state may hold what is gone.
func (p *Platform) restore(ctx context.Context, progress layers.Progress) (refresh bool, err error) {
	cluster, err := p.standing(ctx)
	if err != nil || cluster == nil {
		return false, err
	}
	begun, err := cluster.Begun(ctx)
	if err != nil {
		return false, err
	}
	if begun {
		// What comes to its end meanwhile is not what a team deletes in the course of a day.
		if err := cluster.Resume(ctx, func(what string) { progress("waiting for the end of", what) }); err != nil {
			return false, err
		}
	}
	open, err := p.leftOpen(ctx, PlatformLayer)
	if err != nil || open {
		return open, err
	}
	report, err := p.Status(ctx)
	if err != nil {
		return false, err
	}
	// In a new cluster there is nothing of the layer: it is not the one that the state tells of, which cannot be asked.
	some := slices.ContainsFunc(report.Items, func(i status.Item) bool { return i.Layer == status.LayerPlatform && i.Ready })
	return some && report.Lacks(status.LayerPlatform), nil
}

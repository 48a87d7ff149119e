package gke

import (
	"context"
	"errors"
	"slices"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/teardown"
)

// standing returns the cluster that contains layer 2; nil if there is no cluster, or layer 2 has no resources. Layer 1's
// state has the output of a cluster even after the cluster's deletion, so only layer 2's state tells whether a cluster is
// there to connect to.
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

// restore reverts the effects of an interrupted `down` before an up of layer 2. It reports whether the up must refresh,
// because layer 2's state may contain resources that no longer exist.
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
		// Only an interrupted down is a reason to wait for deletions: teams delete objects in their daily work too.
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
	// A new cluster contains none of the layer's objects. The state then describes the old cluster, which a refresh could
	// not read.
	some := slices.ContainsFunc(report.Items, func(i status.Item) bool { return i.Layer == status.LayerPlatform && i.Ready })
	return some && report.Lacks(status.LayerPlatform), nil
}

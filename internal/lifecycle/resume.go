package lifecycle

import (
	"context"
	"fmt"
	"slices"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/status"
)

// resume brings a layer's state in line with the existing resources before an up, if they may differ: because a `down` or
// another run was interrupted, or because the status names a missing resource. Pulumi does not notice that, because it
// compares a program only with its own state.
//
// If a recorded `down` had begun to destroy layer 2 itself, resume first destroys the rest of layer 2: the teams' objects
// are deleted, and Flux is incomplete.
func (p *Platform) resume(ctx context.Context, run Run, progress layers.Progress) error {
	layer := run.Layer.Name
	state, err := p.read(ctx, layer)
	if err != nil || len(state.resources) == 0 {
		return err
	}
	step, begun := p.Journal().DownBegun()
	if layer == PlatformLayer {
		if begun && step == PlatformLayer {
			// The plugins need the cluster, which may be stopped.
			if _, err := p.Config(ctx, true); err != nil {
				return fmt.Errorf("layer %s: %w", layer, err)
			}
			_, err := run.Runner.Destroy(ctx, run.Layer, progress)
			return err
		}
		if begun, err = p.resumeCluster(ctx, begun, progress); err != nil {
			return fmt.Errorf("layer %s: revert the effects of an interrupted `down`: %w", layer, err)
		}
	}
	if run.Refreshes || !begun && !state.interrupted && !p.hasMissing(ctx, layer) {
		return nil
	}
	return run.Runner.Refresh(ctx, run.Layer, progress)
}

// resumeCluster reverts the effects of a teardown in the cluster of an existing layer 2, and reports whether there may have
// been any. noted says that the journal records a teardown.
func (p *Platform) resumeCluster(ctx context.Context, noted bool, progress layers.Progress) (begun bool, err error) {
	cluster, err := p.start(ctx)
	if err != nil || cluster == nil {
		return noted, err
	}
	if begun = noted; !begun {
		// The journal does not record every teardown. Only an interrupted one is a reason to wait for deletions: teams
		// delete objects in their daily work, too.
		begun, err = cluster.Begun(ctx)
	}
	if err != nil || !begun {
		return begun, err
	}
	return true, cluster.Resume(ctx, waiting(progress))
}

// hasMissing reports whether a resource of a layer has disappeared. It returns false if the status is not available, as
// before the first up, and if no resource of the layer is ready: a new cluster contains none of layer 2's objects, and a
// refresh could not read those of the old one.
func (p *Platform) hasMissing(ctx context.Context, layer string) bool {
	report, err := p.Status(ctx)
	if err != nil || !report.Lacks(layer) {
		return false
	}
	return layer != PlatformLayer || slices.ContainsFunc(report.Items, func(i status.Item) bool { return i.Layer == status.LayerPlatform && i.Ready })
}

package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/shell"
	"github.com/strata-platform/strata/internal/teardown"
)

// Here nothing takes longer: a destroy of a Stack takes seconds, the end of a namespace five, and half a minute an API
// server that has just started and does not know the parameters of its policies.
const (
	teardownPatience = 40 * time.Second
	teardownLimit    = 3 * time.Minute
)

// cluster is the cluster on its way down, which is started where it does not run; nil where there is none.
func (p *Platform) cluster(ctx context.Context) (*teardown.Cluster, error) {
	is, err := p.ensureCluster(ctx)
	if err != nil || !is {
		return nil, err
	}
	c, err := p.teardown(ctx)
	if err != nil {
		return nil, err
	}
	return c, c.AwaitPolicies(ctx)
}

func (p *Platform) teardown(ctx context.Context) (*teardown.Cluster, error) {
	config, err := p.AdminConfig()
	if err != nil {
		return nil, err
	}
	list, err := p.namespaces()
	if err != nil {
		return nil, err
	}
	// A team that was taken out of teams.yaml may have a namespace still.
	c, err := p.clusterClient()
	if err != nil {
		return nil, err
	}
	made, err := teamNamespaces(ctx, c)
	if err != nil {
		return nil, err
	}
	for name := range made {
		if !slices.Contains(list.Teams, name) {
			list.Teams = append(list.Teams, name)
		}
	}
	return teardown.New(config, teardown.Namespaces(list), teardown.Options{
		Patience: teardownPatience, Limit: teardownLimit,
		Kubectl:  "kubectl --kubeconfig " + shell.Word(p.Home.AdminKubeconfig()),
		FluxLogs: p.Home.Call("logs kustomize-controller"),
		Purge:    p.Home.Call("down --purge --yes"),
	})
}

// undoDown brings a layer's state in line with what an interrupted `down` has left of it, so that its up makes what is
// gone. Of a layer 2 whose own destroy had begun the rest is destroyed first: the teams have nothing in it any more, and
// half of Flux is of no use.
func (p *Platform) undoDown(r layers.Runner, ctx context.Context, l layers.Layer, progress layers.Progress) error { //nolint:revive // as the operations of a layer
	if count, err := r.Resources(ctx, l); err != nil || count == 0 {
		return err
	}
	step, begun := p.Home.DownBegun()
	if l.Name == PlatformLayer {
		c, err := p.cluster(ctx)
		if err == nil && begun && step == PlatformLayer {
			_, err = r.Destroy(ctx, l, progress)
			return err
		}
		// The end of a former team's hop takes no note of what it has begun.
		if err == nil && !begun && c != nil {
			begun, err = c.Suspended(ctx)
		}
		if err == nil && begun && c != nil {
			err = c.Resume(ctx, func(what string) { progress("waiting for the end of", what) })
		}
		if err != nil {
			return fmt.Errorf("layer %s: bring back what an interrupted `down` has left: %w", l.Name, err)
		}
	}
	if !begun {
		return nil
	}
	return r.Refresh(ctx, l, progress)
}

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

// These bounds exceed what the steps take here. Destroying a Stack takes seconds, and deleting a namespace five
// seconds. A newly started API server takes half a minute to load the parameters of its policies.
const (
	teardownPatience = 40 * time.Second
	teardownLimit    = 3 * time.Minute
)

// cluster returns the cluster for a teardown. It starts a stopped cluster. It returns nil if there is no cluster.
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
	// A team removed from teams.yaml may still have a namespace.
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

// undoDown brings a layer's state in line with the effects of an interrupted `down`, so that the layer's up restores
// the lost resources. If `down` had begun to destroy layer 2 itself, undoDown first destroys the rest of it: the teams
// have nothing left there, and half of Flux is useless.
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
		// endFormerHops does not record its beginning in the home.
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

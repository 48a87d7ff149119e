package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/platform"
)

// LayerDestroy deletes the resources of one layer. It refuses, and changes nothing, while other resources need the
// layer for their own deletion: the Stacks need layer 2, and layer 2 needs layer 1.
func (p *Platform) LayerDestroy(ctx context.Context, name string, progress layers.Progress) (layers.Summary, error) {
	return p.operate(ctx, name, progress, p.destroy, p.standsAlone)
}

// Made reports whether a layer ever ran in this home.
func (p *Platform) Made(layer string) bool {
	_, err := os.Stat(p.Home.Layer(layer))
	return err == nil
}

// standsAlone returns an error if other resources need a layer.
func (p *Platform) standsAlone(ctx context.Context, name string, runner layers.Runner) error {
	switch name {
	case PlatformLayer:
		return p.noStacks(ctx)
	case BootstrapLayer:
		count, err := runner.Resources(ctx, layers.Layer{Name: PlatformLayer, Project: platform.Project})
		if err == nil && count > 0 {
			err = fmt.Errorf("layer %s: nothing was destroyed: layer %s still has %d resources in the cluster: run `%s` first",
				BootstrapLayer, PlatformLayer, count, p.Home.Call("layer destroy "+PlatformLayer))
		}
		return err
	}
	return nil
}

// noStacks returns an error if there are Stacks. Only the operator can delete their cloud resources, and the operator
// is part of layer 2.
func (p *Platform) noStacks(ctx context.Context) error {
	c, err := p.runningCluster(ctx)
	if err != nil || c == nil {
		return err
	}
	all, err := stacks(ctx, c)
	if err != nil || len(all) == 0 {
		return err
	}
	return fmt.Errorf("layer %s: nothing was destroyed: only the operator, which goes with this layer, can delete what these Stacks made: %s: "+
		"remove them from their repositories and run this again, or run `%s` to destroy them and every layer", PlatformLayer, strings.Join(namesOf(all), ", "), p.Home.Call("down"))
}

func namesOf(all []pulumiv1.Stack) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.Namespace+"/"+s.Name)
	}
	return names
}

// runningCluster returns a client of the cluster. It starts a stopped cluster. The client is nil if there is no
// cluster.
func (p *Platform) runningCluster(ctx context.Context) (client.Client, error) {
	if is, err := p.ensureCluster(ctx); err != nil || !is {
		return nil, err
	}
	return p.clusterClient()
}

// ensureCluster starts the cluster if it does not run. is says whether there is a cluster.
func (p *Platform) ensureCluster(ctx context.Context) (is bool, err error) {
	running, err := p.client.Status(ctx)
	if errors.Is(err, supervisor.ErrNotRunning) || err == nil && running.Cluster != supervisor.ClusterRunning {
		if _, statErr := os.Stat(p.Home.AdminKubeconfig()); errors.Is(statErr, os.ErrNotExist) {
			return false, nil
		}
		if _, err = p.Start(ctx); err == nil {
			err = p.client.StartCluster(ctx)
		}
	}
	return err == nil, err
}

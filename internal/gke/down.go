package gke

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/teardown"
	"github.com/strata-platform/strata/platform"
)

// patience is how long a Stack may stay without progress before `down` reports it. A run of upstream's operator starts
// with a pod, which must be scheduled and must pull its images, and creating or deleting a cloud instance takes minutes.
const (
	patience     = 10 * time.Minute
	stacksLimit  = time.Hour
	downStacks   = "teams: destroy their Stacks while the operator lives"
	downPlatform = "layer 2: destroy platform"
	downFirst    = "layer 1: destroy bootstrap"
	downAllowed  = "checks: nothing is protected"
)

// DownPlan returns the steps of Down, in order.
func (p *Platform) DownPlan() []string {
	return []string{downAllowed, downStacks, downPlatform, downFirst}
}

// Down takes the platform down, from the teams to the cluster. Before any change, it returns an error if layer 1 contains
// protected resources. The Pulumi stacks stay, with their configuration.
func (p *Platform) Down(ctx context.Context, show *progress.Reporter) error {
	steps := map[string]func() (string, error){
		downAllowed:  func() (string, error) { return "", p.unprotected(ctx) },
		downStacks:   func() (string, error) { return p.destroyStacks(ctx, show) },
		downPlatform: func() (string, error) { return p.destroyLayer(ctx, show, PlatformLayer) },
		downFirst:    func() (string, error) { return p.destroyLayer(ctx, show, BootstrapLayer) },
	}
	for _, name := range p.DownPlan() {
		if err := show.Run(name, steps[name]); err != nil {
			return p.interrupted(err)
		}
	}
	return nil
}

// LayerDestroy deletes the resources of one layer. It returns an error, and changes nothing, if resources above the layer
// need the layer for their own deletion: Stacks need layer 2, and layer 2 needs layer 1.
func (p *Platform) LayerDestroy(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error) {
	project, err := p.project(layer)
	if err != nil {
		return layers.Summary{}, err
	}
	if layer == PlatformLayer {
		err = p.noStacks(ctx)
	} else if err = p.noPlatform(ctx); err == nil {
		err = p.unprotected(ctx)
	}
	if err != nil {
		return layers.Summary{}, err
	}
	summary, err := project.Destroy(ctx, progress)
	return summary, p.interrupted(err)
}

func (p *Platform) destroyLayer(ctx context.Context, show *progress.Reporter, layer string) (string, error) {
	summary, err := p.LayerDestroy(ctx, layer, detail(show))
	return summary.String(), err
}

// noStacks returns an error if there are Stacks: only the operator can delete their resources, and layer 2 deletes the
// operator.
func (p *Platform) noStacks(ctx context.Context) error {
	cluster, err := p.standing(ctx)
	if err != nil || cluster == nil {
		return err
	}
	all, err := cluster.Stacks(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	names := make([]string, len(all))
	for i, stack := range all {
		names[i] = stack.String()
	}
	return fmt.Errorf("layer %s: nothing was destroyed: only the operator, which goes with this layer, can delete what these Stacks made: %s: "+
		"remove them from their repositories and run this again, or run `%s` to destroy them and every layer", PlatformLayer, strings.Join(names, ", "), p.strataLine("down"))
}

// noPlatform returns an error if layer 2 has resources.
func (p *Platform) noPlatform(ctx context.Context) error {
	resources, err := p.resources(ctx, PlatformLayer)
	if err != nil || len(resources) == 0 {
		return err
	}
	return fmt.Errorf("layer %s: nothing was destroyed: layer %s still has %d resources in the cluster: run `%s` first",
		BootstrapLayer, PlatformLayer, len(resources), p.strataLine("layer destroy "+PlatformLayer))
}

// unprotected returns an error if layer 1 contains protected resources.
func (p *Platform) unprotected(ctx context.Context) error {
	resources, err := p.resources(ctx, BootstrapLayer)
	if err != nil {
		return err
	}
	var held []string
	for _, resource := range resources {
		if resource.Protect {
			held = append(held, resource.URN.Name())
		}
	}
	if len(held) == 0 {
		return nil
	}
	return fmt.Errorf("layer %s: nothing was destroyed: deletionProtection holds %d of its resources (%s): run `%s`, then `%s`, then this again",
		BootstrapLayer, len(held), strings.Join(held[:min(3, len(held))], ", "),
		p.pulumiLine(BootstrapLayer, "config set deletionProtection false"), p.strataLine("layer up "+BootstrapLayer))
}

// resources returns the resources in a layer's state, without the stack itself and the providers; none if the stack does
// not exist.
func (p *Platform) resources(ctx context.Context, layer string) ([]apitype.ResourceV3, error) {
	deployment, err := p.state(ctx, layer)
	if err != nil {
		return nil, err
	}
	var found []apitype.ResourceV3
	for _, resource := range deployment.Resources {
		if !strings.HasPrefix(string(resource.Type), "pulumi:") {
			found = append(found, resource)
		}
	}
	return found, nil
}

// leftOpen reports whether a killed run has left pending operations in a layer's state.
func (p *Platform) leftOpen(ctx context.Context, layer string) (bool, error) {
	deployment, err := p.state(ctx, layer)
	return len(deployment.PendingOperations) > 0, err
}

// state returns a layer's state; empty if the stack does not exist.
func (p *Platform) state(ctx context.Context, layer string) (apitype.DeploymentV3, error) {
	var deployment apitype.DeploymentV3
	project, err := p.project(layer)
	if err != nil {
		return deployment, err
	}
	text, err := project.Pulumi(ctx, "stack", "export")
	if err != nil && strings.Contains(err.Error(), noStack) {
		return deployment, nil
	}
	var exported apitype.UntypedDeployment
	if err == nil {
		err = json.Unmarshal([]byte(text), &exported)
	}
	if err == nil && len(exported.Deployment) > 0 {
		err = json.Unmarshal(exported.Deployment, &deployment)
	}
	if err != nil {
		return deployment, fmt.Errorf("read the state of layer %s, stack %s: %w", layer, p.Environment, err)
	}
	return deployment, nil
}

// destroyStacks deletes the teams' Stacks, and waits until the operator has destroyed their resources.
func (p *Platform) destroyStacks(ctx context.Context, show *progress.Reporter) (string, error) {
	cluster, err := p.standing(ctx)
	if err != nil {
		return "", err
	}
	if cluster == nil {
		return "no cluster", nil
	}
	count, err := cluster.DestroyStacks(ctx, func(what string) { show.Detail("waiting for %s", what) })
	if err != nil || count == 0 {
		return "there are none", err
	}
	return fmt.Sprintf("%d destroyed", count), nil
}

// teardown returns the cluster, ready for a teardown.
func (p *Platform) teardown(ctx context.Context) (*teardown.Cluster, error) {
	config, err := p.clusterConfig(ctx)
	if err != nil {
		return nil, err
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	// A team that was removed from teams.yaml may still have a namespace.
	all, err := p.teamNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, team := range list {
		if !slices.Contains(all, team.Namespace()) {
			all = append(all, team.Namespace())
		}
	}
	namespaces := teardown.Namespaces{Flux: fluxcd.Namespace, Platform: platform.PlatformNamespace, Operator: platform.OperatorNamespace, Teams: all}
	return teardown.New(config, namespaces, teardown.Options{
		Patience: patience, Limit: stacksLimit,
		Kubectl:  p.kubectl(),
		FluxLogs: p.kubectl() + " -n " + fluxcd.Namespace + " logs deployment/kustomize-controller",
	})
}

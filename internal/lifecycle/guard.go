package lifecycle

import (
	"context"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/handoff"
)

// destroyable returns an error if a layer must not be destroyed now: the Stacks need layer 2, and layer 2 needs layer 1.
func (p *Platform) destroyable(ctx context.Context, layer string) error {
	if layer == PlatformLayer {
		return p.noStacks(ctx)
	}
	if err := p.noPlatform(ctx); err != nil {
		return err
	}
	return p.unprotected(ctx)
}

// noStacks returns an error if there are Stacks. Only the operator can delete their resources, and layer 2 deletes the
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
	return fmt.Errorf("layer %s: nothing was destroyed: this layer contains the operator, which must first delete the resources of these Stacks: %s: "+
		"remove the Stacks from their repositories and run this again, or run `%s` to destroy the Stacks and every layer", PlatformLayer, namesOf(all), p.About().Call("down"))
}

// noPlatform returns an error if layer 2 has resources.
func (p *Platform) noPlatform(ctx context.Context) error {
	resources, err := p.resources(ctx, PlatformLayer)
	if err != nil || len(resources) == 0 {
		return err
	}
	return fmt.Errorf("layer %s: nothing was destroyed: layer %s still has %d resources in the cluster: run `%s` first",
		BootstrapLayer, PlatformLayer, len(resources), p.About().Call("layer destroy "+PlatformLayer))
}

// mostNamed is the maximum number of protected resources to name.
const mostNamed = 3

// unprotected returns an error if layer 1 contains protected resources.
func (p *Platform) unprotected(ctx context.Context) error {
	resources, err := p.resources(ctx, BootstrapLayer)
	if err != nil {
		return err
	}
	held := protected(resources)
	if len(held) == 0 {
		return nil
	}
	return fmt.Errorf("layer %s: nothing was destroyed: deletionProtection protects %d of its resources (%s): %s, then run this again",
		BootstrapLayer, len(held), strings.Join(held[:min(mostNamed, len(held))], ", "), p.About().Unprotect)
}

// protected returns the names of the protected resources.
func protected(resources []apitype.ResourceV3) []string {
	var held []string
	for _, resource := range resources {
		if resource.Protect {
			held = append(held, resource.URN.Name())
		}
	}
	return held
}

// state is the content of a layer's stack.
type state struct {
	// resources excludes the stack itself and the providers.
	resources []apitype.ResourceV3
	// interrupted says that a killed run has left operations whose result it did not record.
	interrupted bool
	// strata is the version of Strata that ran the layer last; empty if unknown.
	strata string
}

// read reads a layer's state; empty if the layer has not run. On gke, each call takes an export by pulumi.
func (p *Platform) read(ctx context.Context, layer string) (state, error) {
	if !p.Made(layer) {
		return state{}, nil
	}
	stored, err := p.State(ctx, layer)
	if err != nil {
		return state{}, fmt.Errorf("layer %s: %w", layer, err)
	}
	read := state{interrupted: len(stored.PendingOperations) > 0}
	for _, resource := range stored.Resources {
		if resource.Type == "pulumi:pulumi:Stack" {
			read.strata, _ = resource.Outputs[handoff.OutputStrata].(string)
		}
		if !strings.HasPrefix(string(resource.Type), "pulumi:") {
			read.resources = append(read.resources, resource)
		}
	}
	return read, nil
}

// resources returns the resources of a layer, like read.
func (p *Platform) resources(ctx context.Context, layer string) ([]apitype.ResourceV3, error) {
	read, err := p.read(ctx, layer)
	return read.resources, err
}

package local

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/teardown"
)

// These are the names of Down's steps. If stopStep fails, Down must not remove the home: without the home, nobody
// could find the programs that still run.
const (
	stacksStep     = "teams: destroy their Stacks while the operator lives"
	namespacesStep = "teams, operator: leave the cluster while Flux lives"
	platformStep   = "layer 2: destroy platform"
	bootstrapStep  = "layer 1: destroy bootstrap"
	stopStep       = "stop what runs"
)

// downStep is one step of Down.
type downStep struct {
	name string
	do   func(context.Context, *progress.Reporter) (string, error)
	// orderly marks a step that makes no sense after a failed step.
	orderly bool
}

// downSteps returns the steps of Down in order. With purge, they include the removal of the home.
func (p *Platform) downSteps(purge bool) []downStep {
	steps := []downStep{
		{name: stacksStep, do: p.downStacks},
		{name: namespacesStep, do: p.downNamespaces, orderly: true},
		{name: platformStep, do: p.downLayer(PlatformLayer), orderly: true},
		{name: bootstrapStep, do: p.downLayer(BootstrapLayer)},
		{name: stopStep, do: func(ctx context.Context, _ *progress.Reporter) (string, error) {
			text := ""
			if !p.Home.Exists() {
				text = "there is no platform in " + p.Home.Dir()
			}
			return text, p.client.Stop(ctx)
		}},
	}
	if purge {
		steps = append(steps, downStep{name: p.removeStep(), do: func(context.Context, *progress.Reporter) (string, error) {
			return "", p.Home.Remove()
		}})
	}
	return steps
}

func (p *Platform) removeStep() string { return "remove " + p.Home.Dir() }

// Down takes the platform down from the teams to the cluster. With purge, Down removes the home even if it cannot
// destroy a layer, because the home contains the whole emulated cloud.
func (p *Platform) Down(ctx context.Context, show *progress.Reporter, purge bool) error {
	if p.Home.Exists() {
		release, err := p.Lock()
		if err != nil {
			return err
		}
		defer release()
	}
	return p.runDown(ctx, show, p.downSteps(purge), purge)
}

func (p *Platform) runDown(ctx context.Context, show *progress.Reporter, steps []downStep, purge bool) error {
	failed := false
	for _, step := range steps {
		if failed && step.orderly {
			continue
		}
		err := show.Run(step.name, func() (string, error) { return step.do(ctx, show) })
		if err == nil {
			continue
		}
		if !purge || ctx.Err() != nil || step.name == stopStep {
			return err
		}
		if step.name == p.removeStep() {
			return err
		}
		show.Note("%v", err)
		show.Note("going on nevertheless: --purge removes the home, and with it all that this step leaves behind")
		failed = true
	}
	return nil
}

// downLayer returns the step that destroys a layer. For a layer that never ran, the step does nothing.
func (p *Platform) downLayer(layer string) func(context.Context, *progress.Reporter) (string, error) {
	return func(ctx context.Context, show *progress.Reporter) (string, error) {
		if !p.Made(layer) {
			return "never made", p.endDown(layer)
		}
		if err := p.beginDown(layer); err != nil {
			return "", err
		}
		if _, err := p.Start(ctx); err != nil {
			return "", err
		}
		// After the earlier steps, only resources that could not be destroyed still need the layer.
		summary, err := p.operate(ctx, layer, func(operation, resource string) { show.Detail("%s %s", operation, resource) }, p.destroy, nil)
		if err != nil {
			return "", err
		}
		if err := os.RemoveAll(p.Home.Layer(layer)); err != nil {
			return "", err
		}
		return summary.String(), p.endDown(layer)
	}
}

// clusterStep is a step of Down that the home records, like the layers.
const clusterStep = "cluster"

// beginDown records the start of a step, unless the record names a later step: the effects of that step persist.
func (p *Platform) beginDown(step string) error {
	order := []string{clusterStep, PlatformLayer, BootstrapLayer}
	if last, begun := p.Home.DownBegun(); begun && slices.Index(order, last) >= slices.Index(order, step) {
		return nil
	}
	return p.Home.BeginDown(step)
}

func (p *Platform) endDown(layer string) error {
	if layer != BootstrapLayer {
		return nil
	}
	return p.Home.EndDown()
}

// downStacks destroys the teams' Stacks.
func (p *Platform) downStacks(ctx context.Context, show *progress.Reporter) (string, error) {
	c, err := p.cluster(ctx)
	if err != nil {
		return "", err
	}
	if c == nil {
		return "no cluster", nil
	}
	if err := p.beginDown(clusterStep); err != nil {
		return "", err
	}
	count, err := c.DestroyStacks(ctx, waitingFor(show))
	if count == 0 {
		return "there are none", err
	}
	return fmt.Sprintf("%d destroyed", count), err
}

// downNamespaces deletes the objects of the teams and of the platform's account from the cluster. Layer 2 would delete
// them too, but one after the other and without showing what delays it.
func (p *Platform) downNamespaces(ctx context.Context, show *progress.Reporter) (string, error) {
	c, err := p.cluster(ctx)
	if err != nil {
		return "", err
	}
	if c == nil {
		return "no cluster", nil
	}
	if err := p.beginDown(clusterStep); err != nil {
		return "", err
	}
	count, err := c.Empty(ctx, waitingFor(show))
	if count == 0 {
		return "there is nothing of theirs", err
	}
	return fmt.Sprintf("%d namespaces deleted", count), err
}

func waitingFor(show *progress.Reporter) teardown.Waiting {
	return func(what string) { show.Detail("waiting for the end of %s", what) }
}

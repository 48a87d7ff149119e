package local

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/teardown"
)

// Names of the steps of Down. Without stopStep the home must not be removed: what still runs could not be found again.
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
	// orderly says that there is no sense in the step once one before it has failed.
	orderly bool
}

// downSteps are what Down does, in order. purge also removes the home.
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

// Down takes the platform down from the teams to the cluster. With purge a layer that cannot be destroyed does not keep
// the home from being removed: all that the emulated cloud holds goes with it.
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

// downLayer destroys a layer. Nothing is destroyed where nothing runs and nothing was made.
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
		// The steps are in order, so that nothing stands on the layer any more but what could not be destroyed.
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

// Steps of down that the home takes note of, besides the layers.
const clusterStep = "cluster"

// beginDown notes that a step has begun, unless a later one had: what that has left is there still.
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

// downNamespaces deletes what the teams and the platform's account have in the cluster. Layer 2 would do that as well,
// but one after the other, and without a word of what holds it up.
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

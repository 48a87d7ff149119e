package local

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/teardown"
)

// DownStep is one step of Down.
type DownStep struct {
	Name string
	do   func(context.Context, *progress.Reporter) (string, error)
	// orderly says that there is no sense in the step once one before it has failed.
	orderly bool
}

// DownPlan returns what Down does, in order. purge also removes the home.
func (p *Platform) DownPlan(purge bool) []DownStep {
	steps := []DownStep{
		{Name: "teams: destroy their Stacks while the operator lives", do: p.downStacks},
		{Name: "teams, operator: leave the cluster while Flux lives", do: p.downNamespaces, orderly: true},
		{Name: "layer 2: destroy platform", do: p.downLayer(PlatformLayer), orderly: true},
		{Name: "layer 1: destroy bootstrap", do: p.downLayer(BootstrapLayer)},
		{Name: stopStep, do: func(ctx context.Context, _ *progress.Reporter) (string, error) {
			return "", p.client.Stop(ctx)
		}},
	}
	if purge {
		steps = append(steps, DownStep{Name: p.removeStep(), do: func(context.Context, *progress.Reporter) (string, error) {
			return "", p.Home.Remove()
		}})
	}
	return steps
}

func (p *Platform) removeStep() string { return "remove " + p.Home.Dir() }

// stopStep is the step without which the home must not be removed: what still runs could not be found again.
const stopStep = "stop what runs"

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
	return p.runDown(ctx, show, p.DownPlan(purge), purge)
}

func (p *Platform) runDown(ctx context.Context, show *progress.Reporter, steps []DownStep, purge bool) error {
	failed := false
	for _, step := range steps {
		if failed && step.orderly {
			continue
		}
		err := show.Run(step.Name, func() (string, error) { return step.do(ctx, show) })
		if err == nil {
			continue
		}
		if !purge || ctx.Err() != nil || step.Name == stopStep {
			return err
		}
		if step.Name == p.removeStep() {
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

package lifecycle

import (
	"context"
	"fmt"
	"slices"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/teardown"
)

// Names of the steps of down.
const (
	checkStep      = "checks: no protected resources"
	stacksStep     = "teams: destroy their Stacks while the operator runs"
	namespacesStep = "teams, operator: delete them while Flux runs"
	platformStep   = "layer 2: destroy platform"
	bootstrapStep  = "layer 1: destroy bootstrap"
)

// downSteps returns the steps of Down in order. With purge, they include the deletion of the data that Strata otherwise
// keeps.
func (p *Platform) downSteps(ctx context.Context, purge bool) []Step {
	steps := []Step{
		{Name: checkStep, Do: func(ctx context.Context, _ *progress.Reporter) (string, error) { return "", p.unprotected(ctx) }},
		{Name: stacksStep, Do: p.inCluster("%d destroyed", (*teardown.Cluster).DestroyStacks)},
		{Name: namespacesStep, Do: p.inCluster("%d namespaces deleted", (*teardown.Cluster).Empty), SkipAfterFailure: true},
		{Name: platformStep, Do: p.downLayer(PlatformLayer), SkipAfterFailure: true},
		{Name: bootstrapStep, Do: p.downLayer(BootstrapLayer)},
	}
	return append(steps, p.Finish(ctx, purge)...)
}

// Down deletes the platform from the teams to the cluster. With purge, Down continues after a failed step, unless the step
// is required.
func (p *Platform) Down(ctx context.Context, show *progress.Reporter, purge bool) error {
	if p.Exists() {
		release, err := p.Lock()
		if err != nil {
			return err
		}
		defer release()
	}
	steps := p.downSteps(ctx, purge)
	if !purge {
		return p.run(ctx, show, steps)
	}
	return p.runAnyway(ctx, show, steps)
}

// runAnyway runs steps. It continues after a failed step, unless the step is required.
func (p *Platform) runAnyway(ctx context.Context, show *progress.Reporter, steps []Step) error {
	failed := false
	for _, step := range steps {
		if failed && step.SkipAfterFailure {
			continue
		}
		err := show.Run(step.Name, func() (string, error) { return step.Do(ctx, show) })
		if err == nil {
			continue
		}
		if ctx.Err() != nil || step.Required {
			return p.interrupted(err)
		}
		show.Note("%v", err)
		show.Note("continuing: --purge removes %s with everything that this step did not delete", p.About().Place)
		failed = true
	}
	return nil
}

// ClusterStep is the name in the journal of the steps that delete objects of the cluster. The other names are those of the
// layers.
const ClusterStep = "cluster"

// beginDown records the start of a step, unless the record names a later step: the effects of that step persist.
func (p *Platform) beginDown(step string) error {
	order := []string{ClusterStep, PlatformLayer, BootstrapLayer}
	if last, begun := p.Journal().DownBegun(); begun && slices.Index(order, last) >= slices.Index(order, step) {
		return nil
	}
	return p.Journal().BeginDown(step)
}

// inCluster returns a step that deletes objects of the cluster with layer 2. Layer 2 would delete them too, but one after the
// other and without showing what delays it. result is the format of the step's result.
func (p *Platform) inCluster(result string, remove func(*teardown.Cluster, context.Context, teardown.Waiting) (int, error)) func(context.Context, *progress.Reporter) (string, error) {
	return func(ctx context.Context, show *progress.Reporter) (string, error) {
		cluster, err := p.standing(ctx)
		if err != nil {
			return "", err
		}
		if cluster == nil {
			return "no cluster", nil
		}
		if err := p.beginDown(ClusterStep); err != nil {
			return "", err
		}
		count, err := remove(cluster, ctx, waiting(detail(show)))
		if count == 0 {
			return "nothing to delete", err
		}
		return fmt.Sprintf(result, count), err
	}
}

// downLayer returns a step that destroys a layer. For a layer that never ran, the step does nothing.
func (p *Platform) downLayer(layer string) func(context.Context, *progress.Reporter) (string, error) {
	return func(ctx context.Context, show *progress.Reporter) (string, error) {
		if !p.Made(layer) {
			return "has never run", p.endDown(layer)
		}
		if err := p.beginDown(layer); err != nil {
			return "", err
		}
		if err := p.prepareLayer(ctx, show, false); err != nil {
			return "", err
		}
		if layer == PlatformLayer {
			// The namespace of Flux ends while the layer deletes the other namespaces, which take as long.
			cluster, err := p.standing(ctx)
			if err == nil && cluster != nil {
				err = cluster.DeleteFlux(ctx)
			}
			if err != nil {
				return "", err
			}
		}
		// After the earlier steps, only resources that could not be destroyed still need the layer.
		var forget func() error
		summary, err := p.operate(ctx, layer, detail(show), operation{do: func(ctx context.Context, run Run, progress layers.Progress) (layers.Summary, error) {
			forget = run.Forget
			return destroy(ctx, run, progress)
		}})
		if err == nil && forget != nil {
			err = forget()
		}
		if err != nil {
			return "", err
		}
		return summary.String(), p.endDown(layer)
	}
}

func (p *Platform) endDown(layer string) error {
	if layer != BootstrapLayer {
		return nil
	}
	return p.Journal().EndDown()
}

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/strata-platform/strata/internal/teardown"
)

// Plan returns what Down would do, based on the existing resources. It changes nothing and starts nothing. Its field
// Unknown lists what Plan could not read.
func (p *Platform) Plan(ctx context.Context, purge bool) teardown.Plan {
	var plan teardown.Plan
	what := map[string]string{}
	var unknown []string
	note := func(err error) {
		if err != nil {
			unknown = append(unknown, fmt.Sprintf("The plan is incomplete: %v.", err))
		}
	}
	first, err := p.read(ctx, BootstrapLayer)
	note(err)
	what[bootstrapStep] = p.planLayer(BootstrapLayer, first, err)
	if held := protected(first.resources); len(held) > 0 {
		what[checkStep] = fmt.Sprintf("deletionProtection protects %d resources: down stops here, and changes nothing", len(held))
	}
	second, err := p.read(ctx, PlatformLayer)
	note(err)
	what[platformStep] = p.planLayer(PlatformLayer, second, err)
	if err == nil {
		note(p.planCluster(ctx, second, what))
	}
	note(p.Complete(ctx, &plan, first.resources, purge))
	for _, step := range p.downSteps(ctx, purge) {
		if text, is := what[step.Name]; is {
			step.What = text
		}
		plan.Steps = append(plan.Steps, teardown.Step{Name: step.Name, What: step.What})
	}
	plan.Unknown = strings.TrimSpace(plan.Unknown + " " + strings.Join(unknown, " "))
	return plan
}

// planLayer describes the destruction of a layer. It returns no text if the layer's state cannot be read, because the layer
// may have resources.
func (p *Platform) planLayer(layer string, read state, err error) string {
	switch {
	case err != nil:
		return ""
	case !p.Made(layer):
		return "has never run"
	}
	return fmt.Sprintf("%d resources", len(read.resources))
}

// planCluster describes the steps that delete objects of layer 2's cluster.
func (p *Platform) planCluster(ctx context.Context, second state, what map[string]string) error {
	if len(second.resources) == 0 {
		what[stacksStep], what[namespacesStep] = "no cluster", "no cluster"
		return nil
	}
	cluster, err := p.teardown(ctx)
	switch {
	case errors.Is(err, errNoCluster):
		what[stacksStep], what[namespacesStep] = "no cluster", "no cluster"
		return nil
	case errors.Is(err, ErrStopped):
		what[stacksStep], what[namespacesStep] = "the Stacks of the stopped cluster, which down starts first", "the namespaces of the teams, the platform and the operator"
		return err
	case err != nil:
		return err
	}
	all, err := cluster.Stacks(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, stack := range all {
		name := stack.String()
		if stack.Keeps {
			name += " (its resources stay: destroyOnFinalize is not set)"
		}
		names = append(names, name)
	}
	what[stacksStep] = teardown.Counted("Stack", names)
	namespaces, err := cluster.Namespaces(ctx)
	what[namespacesStep] = teardown.Counted("namespace", namespaces)
	return err
}

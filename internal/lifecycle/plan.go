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
			unknown = append(unknown, fmt.Sprintf("Not all could be looked at: %v.", err))
		}
	}
	for layer, step := range map[string]string{PlatformLayer: platformStep, BootstrapLayer: bootstrapStep} {
		text, err := p.planLayer(ctx, layer, what)
		what[step] = text
		note(err)
	}
	note(p.planCluster(ctx, what))
	note(p.Complete(ctx, &plan, purge))
	for _, step := range p.downSteps(ctx, purge) {
		if text, is := what[step.Name]; is {
			step.What = text
		}
		plan.Steps = append(plan.Steps, teardown.Step{Name: step.Name, What: step.What})
	}
	plan.Unknown = strings.TrimSpace(plan.Unknown + " " + strings.Join(unknown, " "))
	return plan
}

func (p *Platform) planLayer(ctx context.Context, layer string, what map[string]string) (string, error) {
	if !p.Made(layer) {
		return "never made", nil
	}
	resources, err := p.resources(ctx, layer)
	if err != nil {
		return "", err
	}
	if held := protected(resources); layer == BootstrapLayer && len(held) > 0 {
		what[checkStep] = fmt.Sprintf("deletionProtection holds %d resources: it ends here, and changes nothing", len(held))
	}
	return fmt.Sprintf("%d resources", len(resources)), nil
}

func (p *Platform) planCluster(ctx context.Context, what map[string]string) error {
	resources, err := p.resources(ctx, PlatformLayer)
	if err != nil {
		return nil //nolint:nilerr // planLayer says that the layer's state cannot be read.
	}
	if len(resources) == 0 {
		what[stacksStep], what[namespacesStep] = "no cluster", "no cluster"
		return nil
	}
	cluster, err := p.teardown(ctx)
	switch {
	case errors.Is(err, errNoCluster):
		what[stacksStep], what[namespacesStep] = "no cluster", "no cluster"
		return nil
	case errors.Is(err, ErrStopped):
		what[stacksStep], what[namespacesStep] = "those of the cluster, which is started for it", "those of the teams, the platform and the operator"
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
			name += " (what it made stays: destroyOnFinalize is not set)"
		}
		names = append(names, name)
	}
	what[stacksStep] = teardown.Counted("Stack", names)
	namespaces, err := cluster.Namespaces(ctx)
	what[namespacesStep] = teardown.Counted("namespace", namespaces)
	return err
}

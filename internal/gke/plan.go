package gke

import (
	"context"
	"fmt"

	"github.com/strata-platform/strata/internal/teardown"
)

// holders maps the types of layer 1 that contain irreplaceable data to the text about such a resource, by its name.
var holders = map[string]string{
	"gcp:sql/databaseInstance:DatabaseInstance": "Cloud SQL instance %s with all its databases",
	"gcp:storage/bucket:Bucket":                 "bucket %s with the state of a team's Stacks",
}

// Plan returns the plan of Down for the existing resources. It changes nothing. Unknown lists what Plan could not read.
func (p *Platform) Plan(ctx context.Context) teardown.Plan {
	what := map[string]string{}
	var plan teardown.Plan
	err := p.planLayers(ctx, what, &plan)
	if err == nil {
		what[downStacks], err = p.planStacks(ctx)
	}
	if err != nil {
		plan.Unknown = fmt.Sprintf("Not all could be looked at: %v", err)
	}
	for _, name := range p.DownPlan() {
		plan.Steps = append(plan.Steps, teardown.Step{Name: name, What: what[name]})
	}
	return plan
}

func (p *Platform) planLayers(ctx context.Context, what map[string]string, plan *teardown.Plan) error {
	for layer, step := range map[string]string{BootstrapLayer: downFirst, PlatformLayer: downPlatform} {
		resources, err := p.resources(ctx, layer)
		if err != nil {
			return err
		}
		what[step] = fmt.Sprintf("%d resources", len(resources))
		held := 0
		for _, resource := range resources {
			if text, is := holders[string(resource.Type)]; is {
				plan.Lost = append(plan.Lost, fmt.Sprintf(text, resource.Inputs["name"]))
			}
			if resource.Protect {
				held++
			}
		}
		if held > 0 {
			what[downAllowed] = fmt.Sprintf("deletionProtection holds %d resources: it ends here, and changes nothing", held)
		}
	}
	return nil
}

func (p *Platform) planStacks(ctx context.Context) (string, error) {
	cluster, err := p.standing(ctx)
	if err != nil {
		return "", err
	}
	if cluster == nil {
		return "no cluster", nil
	}
	all, err := cluster.Stacks(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, stack := range all {
		name := stack.String()
		if stack.Keeps {
			name += " (what it made stays: destroyOnFinalize is not set)"
		}
		names = append(names, name)
	}
	return teardown.Counted("Stack", names), nil
}

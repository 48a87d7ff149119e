package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/teams"
)

// namespaceType is the type of a namespace in layer 2's state.
const namespaceType = "kubernetes:core/v1:Namespace"

// former returns the namespaces of former teams, which are no longer in teams.yaml, sorted. Destroying a team's Stacks
// needs the team's identity and namespace, which a run of the layers would delete. The result is empty if layer 2 has no
// resources, or there is no cluster. If the cluster does not answer, former returns an error, unless layer 2's state lists
// no such namespace: the cluster may be gone, and layer 1 can create it again.
func (p *Platform) former(ctx context.Context) ([]string, error) {
	resources, err := p.resources(ctx, PlatformLayer)
	if err != nil || len(resources) == 0 {
		return nil, err
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	config, err := p.Config(ctx, true)
	if err == nil && config == nil {
		return nil, nil
	}
	var byNamespace map[string]string
	if err == nil {
		byNamespace, err = TeamNamespaces(ctx, config)
	}
	if err == nil {
		return withoutTeams(slices.Collect(maps.Keys(byNamespace)), list), nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var stated []string
	for _, resource := range resources {
		if resource.Type == namespaceType {
			stated = append(stated, teamNamespace(resource.Inputs)...)
		}
	}
	if stated = withoutTeams(stated, list); len(stated) == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("nothing was changed: %s belongs to a team that is no longer in %s, and the list of its Stacks is not available: %w: "+
		"add the team again, or restore the connection to the cluster, and run this again", strings.Join(stated, ", "), p.About().TeamsFile, err)
}

// teamNamespace returns the name of a namespace whose inputs have the label of a team, and nothing for any other
// namespace.
func teamNamespace(inputs map[string]any) []string {
	metadata, _ := inputs["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	name, _ := metadata["name"].(string)
	if _, is := labels[hop.TeamLabel]; !is || name == "" {
		return nil
	}
	return []string{name}
}

func withoutTeams(namespaces []string, list []teams.Team) []string {
	left := slices.DeleteFunc(slices.Clone(namespaces), func(namespace string) bool {
		return slices.ContainsFunc(list, func(team teams.Team) bool { return team.Namespace() == namespace })
	})
	slices.Sort(left)
	return slices.Compact(left)
}

// refuseFormer returns an error if a former team has Stacks. For layer 1, a former team's namespace is enough for an error:
// Stacks may still be created in it.
func (p *Platform) refuseFormer(ctx context.Context, layer string) error {
	former, err := p.former(ctx)
	if err == nil && len(former) > 0 {
		err = p.refuseStacks(ctx, former)
	}
	if err != nil {
		return fmt.Errorf("layer %s: %w", layer, err)
	}
	if len(former) > 0 && layer == BootstrapLayer {
		about := p.About()
		return fmt.Errorf("layer %s: nothing was changed: %s belongs to a team that is no longer in %s, and has to be deleted before the team's Google identity: "+
			"run `%s` first, or `%s` for all", layer, strings.Join(former, ", "), about.TeamsFile, about.Call("layer up "+PlatformLayer), about.Call("up"))
	}
	return nil
}

func (p *Platform) refuseStacks(ctx context.Context, former []string) error {
	names, err := p.StacksIn(ctx, former...)
	if err != nil || len(names) == 0 {
		return err
	}
	return fmt.Errorf("nothing was changed: these Stacks and orders are in namespaces of teams that are no longer in %s: %s: "+
		"add the team again and remove them from its repository, or delete them with kubectl, then run this again", p.About().TeamsFile, strings.Join(names, ", "))
}

// StacksIn returns the Stacks ("namespace/name") and the orders of the catalogue ("Kind namespace/name") in the namespaces.
func (p *Platform) StacksIn(ctx context.Context, namespaces ...string) ([]string, error) {
	cluster, err := p.teardown(ctx)
	if err != nil {
		return nil, err
	}
	return cluster.Held(ctx, namespaces)
}

// endFormer deletes the namespaces of former teams while their Google identities and the operator exist, so that the
// operator can destroy Stacks that appear after the team's removal from teams.yaml. If there already are Stacks,
// endFormer returns an error and changes nothing.
func (p *Platform) endFormer(ctx context.Context, show *progress.Reporter) error {
	former, err := p.former(ctx)
	if err != nil || len(former) == 0 {
		return err
	}
	if err := p.refuseStacks(ctx, former); err != nil {
		return err
	}
	cluster, err := p.teardown(ctx)
	if err != nil {
		return err
	}
	// Flux may create a Stack until Flux is suspended there.
	late := func(ctx context.Context) error { return p.refuseStacks(ctx, former) }
	if err := cluster.DeleteTeams(ctx, former, late, waiting(detail(show))); err != nil {
		return err
	}
	show.Note("deleted the namespace of a team that is no longer in teams.yaml: %s", strings.Join(former, ", "))
	return nil
}

package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/progress"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// teamNamespaces are the namespaces of the cluster that belong to a team, each with the team's name.
func teamNamespaces(ctx context.Context, c client.Client) (map[string]string, error) {
	var list corev1.NamespaceList
	if err := c.List(ctx, &list, client.HasLabels{hop.TeamLabel}); err != nil {
		return nil, fmt.Errorf("list the teams' namespaces: %w", err)
	}
	teams := map[string]string{}
	for _, n := range list.Items {
		teams[n.Name] = n.Labels[hop.TeamLabel]
	}
	return teams, nil
}

// formerNamespaces are the namespaces of teams that are in teams.yaml no more.
func (p *Platform) formerNamespaces(ctx context.Context, c client.Client) ([]string, error) {
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	made, err := teamNamespaces(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, team := range list {
		delete(made, team.Namespace())
	}
	return slices.Sorted(maps.Keys(made)), nil
}

// stacksIn names the Stacks of a namespace.
func (p *Platform) stacksIn(ctx context.Context, namespaces ...string) ([]string, error) {
	c, err := p.clusterClient()
	if err != nil {
		return nil, err
	}
	all, err := stacks(ctx, c)
	if err != nil {
		return nil, err
	}
	return namesOf(slices.DeleteFunc(all, func(s pulumiv1.Stack) bool { return !slices.Contains(namespaces, s.Namespace) })), nil
}

// noFormerStacks refuses to run a layer for teams.yaml while a team that is not in it any more has Stacks: with its
// identity, or its namespace, would go what it takes to destroy what they made. Layer 1 is refused even while such a team
// has a namespace, where Stacks may come.
func (p *Platform) noFormerStacks(ctx context.Context, layer string, _ layers.Runner) error {
	former, err := p.formerTeams(ctx)
	if err != nil || len(former) == 0 {
		return err
	}
	if err := p.refuseStacks(ctx, former); err != nil {
		return fmt.Errorf("layer %s: nothing was changed: %w", layer, err)
	}
	if layer == BootstrapLayer {
		return fmt.Errorf("layer %s: nothing was changed: %s belongs to a team that is not in %s any more, and the team's Google identity has to outlive it: run `%s` first, or `%s` for all",
			layer, strings.Join(former, ", "), p.teamsFile(), p.Home.Call("layer up "+PlatformLayer), p.Home.Call("up"))
	}
	return nil
}

func (p *Platform) refuseStacks(ctx context.Context, former []string) error {
	all, err := p.stacksIn(ctx, former...)
	if err != nil || len(all) == 0 {
		return err
	}
	return fmt.Errorf("these Stacks live in namespaces of teams that are not in %s any more: %s: put the team back and remove them from its repository, or delete them with kubectl, then run this again",
		p.teamsFile(), strings.Join(all, ", "))
}

// formerTeams are the namespaces of former teams; none where there is no cluster.
func (p *Platform) formerTeams(ctx context.Context) ([]string, error) {
	if !p.Made(PlatformLayer) {
		return nil, nil
	}
	c, err := p.runningCluster(ctx)
	if err != nil || c == nil {
		return nil, err
	}
	return p.formerNamespaces(ctx, c)
}

// endFormerHops deletes the namespaces of former teams while their Google identities and the operator live, so that
// nothing is left of a Stack which somebody made after its team was taken out of teams.yaml. A Stack that is there already
// is a reason not to: then nothing is changed.
func (p *Platform) endFormerHops(ctx context.Context, show *progress.Reporter) error {
	former, err := p.formerTeams(ctx)
	if err != nil || len(former) == 0 {
		return err
	}
	if err := p.refuseStacks(ctx, former); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	// One may come until Flux applies nothing there any more.
	late := func(ctx context.Context) error { return p.refuseStacks(ctx, former) }
	c, err := p.teardown(ctx)
	if err != nil {
		return err
	}
	if err := c.DeleteTeams(ctx, former, late, waitingFor(show)); err != nil {
		return err
	}
	show.Note("removed the namespace of a team that is not in teams.yaml any more: %s", strings.Join(former, ", "))
	return nil
}

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

// teamNamespaces maps the teams' namespaces in the cluster to the teams' names.
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

// formerNamespaces returns the namespaces of teams that teams.yaml no longer contains.
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

// stacksIn returns the names of the Stacks in the namespaces.
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

// noFormerStacks refuses to run a layer while a team that teams.yaml no longer contains has Stacks. The run would
// remove the team's identity or namespace, and the operator could no longer destroy the Stacks' resources. It refuses
// to run layer 1 even while such a team has a namespace, because Stacks may appear there.
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

// formerTeams returns the namespaces of former teams. There are none without a cluster.
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

// endFormerHops deletes the namespaces of former teams while their Google identities and the operator exist. The
// operator can then destroy Stacks that somebody creates after the team's removal from teams.yaml. If a namespace has
// Stacks already, endFormerHops returns an error and changes nothing.
func (p *Platform) endFormerHops(ctx context.Context, show *progress.Reporter) error {
	former, err := p.formerTeams(ctx)
	if err != nil || len(former) == 0 {
		return err
	}
	if err := p.refuseStacks(ctx, former); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	// Flux may still apply a new Stack, until it stops applying in these namespaces.
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

package gke

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/teams"
)

// namespaceType is the type of a namespace in layer 2's state.
const namespaceType = "kubernetes:core/v1:Namespace"

// former returns the namespaces of former teams, which are no longer in teams.yaml, sorted. Destroying a team's Stacks
// needs the team's identity and namespace, which a run of the layers would delete. The result is empty if layer 2 has no
// resources. If the cluster does not answer, former returns an error, unless layer 2's state lists no such namespace.
func (p *Platform) former(ctx context.Context) ([]string, error) {
	resources, err := p.resources(ctx, PlatformLayer)
	if err != nil || len(resources) == 0 {
		return nil, err
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	var stated []string
	for _, resource := range resources {
		if resource.Type == namespaceType {
			stated = append(stated, teamNamespace(resource.Inputs)...)
		}
	}
	found, err := p.teamNamespaces(ctx)
	switch stated = withoutTeams(stated, list); {
	case err == nil:
		return withoutTeams(found, list), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(stated) == 0:
		// The cluster may be gone, and layer 1 can create it again.
		return nil, nil
	case errors.Is(err, errNoCluster):
		return nil, nil
	}
	return nil, fmt.Errorf("nothing was changed: %s belongs to a team that is not in teams.yaml any more, and the cluster cannot be asked for its Stacks: %w: "+
		"put the team back, or make the cluster answer, and run this again", strings.Join(stated, ", "), err)
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
	left := map[string]bool{}
	for _, name := range namespaces {
		left[name] = true
	}
	for _, team := range list {
		delete(left, team.Namespace())
	}
	return slices.Sorted(maps.Keys(left))
}

// teamNamespaces returns the cluster's namespaces that belong to a team.
func (p *Platform) teamNamespaces(ctx context.Context) ([]string, error) {
	config, err := p.clusterConfig(ctx)
	if err != nil {
		return nil, err
	}
	short := rest.CopyConfig(config)
	short.Timeout = answerTimeout
	client, err := kubernetes.NewForConfig(short)
	if err != nil {
		return nil, err
	}
	found, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: hop.TeamLabel})
	if err != nil {
		return nil, fmt.Errorf("list the teams' namespaces: %w", err)
	}
	var names []string
	for _, each := range found.Items {
		names = append(names, each.Name)
	}
	return names, nil
}

// refuseFormer returns an error if a former team has Stacks, so that no layer runs. For layer 1, a former team's
// namespace is enough for an error: Stacks may still be created in it.
func (p *Platform) refuseFormer(ctx context.Context, layer string) error {
	former, err := p.former(ctx)
	if err == nil && len(former) > 0 {
		err = p.refuseStacks(ctx, former)
	}
	if err != nil {
		return fmt.Errorf("layer %s: %w", layer, err)
	}
	if len(former) > 0 && layer == BootstrapLayer {
		return fmt.Errorf("layer %s: nothing was changed: %s belongs to a team that is not in teams.yaml any more, and the team's Google identity has to outlive it: "+
			"run `%s` first, or `%s` for all", layer, strings.Join(former, ", "), p.strataLine("layer up "+PlatformLayer), p.strataLine("up"))
	}
	return nil
}

func (p *Platform) refuseStacks(ctx context.Context, former []string) error {
	cluster, err := p.teardown(ctx)
	if err != nil {
		return err
	}
	all, err := cluster.Stacks(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, stack := range all {
		if slices.Contains(former, stack.Namespace) {
			names = append(names, stack.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was changed: these Stacks live in namespaces of teams that are not in teams.yaml any more: %s: "+
		"put the team back and remove them from its repository, or delete them with kubectl, then run this again", strings.Join(names, ", "))
}

// endFormer deletes the namespaces of former teams while their Google identities and the operator exist, so that the
// operator can destroy Stacks that appear after the team's removal from teams.yaml. If there already are Stacks,
// endFormer returns an error and changes nothing.
func (p *Platform) endFormer(ctx context.Context, progress layers.Progress) error {
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
	return cluster.DeleteTeams(ctx, former, late, func(what string) { progress("waiting for the end of", what) })
}

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/teardown"
	"github.com/strata-platform/strata/platform"
)

// errNoCluster means that layer 1 has no cluster.
var errNoCluster = errors.New("there is no cluster")

// answerTimeout limits a request to the cluster's API.
const answerTimeout = 10 * time.Second

// Brief returns a copy of a client configuration for short requests to the cluster's API: each fails after ten seconds.
func Brief(config *rest.Config) *rest.Config {
	short := rest.CopyConfig(config)
	short.Timeout = answerTimeout
	return short
}

// TeamNamespaces maps each namespace of the cluster that belongs to a team to the team's name. Former teams, which are no
// longer in teams.yaml, are included.
func TeamNamespaces(ctx context.Context, config *rest.Config) (map[string]string, error) {
	client, err := kubernetes.NewForConfig(Brief(config))
	if err != nil {
		return nil, err
	}
	found, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: hop.TeamLabel})
	if err != nil {
		return nil, fmt.Errorf("list the teams' namespaces: %w", err)
	}
	byNamespace := map[string]string{}
	for _, each := range found.Items {
		byNamespace[each.Name] = each.Labels[hop.TeamLabel]
	}
	return byNamespace, nil
}

// TeamNamespaces returns the client configuration of the running cluster and the namespaces of a team, or of all teams if
// team is empty.
func (p *Platform) TeamNamespaces(ctx context.Context, team string) (*rest.Config, []string, error) {
	config, err := p.Config(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	if config == nil {
		return nil, nil, fmt.Errorf("%w: run `%s`", errNoCluster, p.About().Call("up"))
	}
	found, err := TeamNamespaces(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	maps.DeleteFunc(found, func(_, owner string) bool { return team != "" && owner != team })
	if len(found) == 0 {
		missing := "no team has a namespace yet"
		if team != "" {
			missing = fmt.Sprintf("team %q has no namespace", team)
		}
		return nil, nil, fmt.Errorf("%s: `%s` lists the teams", missing, p.About().Call("team list"))
	}
	return config, slices.Sorted(maps.Keys(found)), nil
}

// standing returns the cluster that contains layer 2, and starts it if it is stopped. It returns nil if there is no cluster,
// or layer 2 has no resources. Layer 1's state has the output of a cluster even after the cluster's deletion, so only layer
// 2's state shows whether the cluster exists.
func (p *Platform) standing(ctx context.Context) (*teardown.Cluster, error) {
	resources, err := p.resources(ctx, PlatformLayer)
	if err != nil || len(resources) == 0 {
		return nil, err
	}
	return p.start(ctx)
}

// start returns the cluster, and starts it if it is stopped; nil if there is no cluster.
func (p *Platform) start(ctx context.Context) (*teardown.Cluster, error) {
	config, err := p.Config(ctx, true)
	if err != nil || config == nil {
		return nil, err
	}
	cluster, err := p.clusterOf(ctx, config)
	if err != nil {
		return nil, err
	}
	return cluster, cluster.AwaitPolicies(ctx)
}

// teardown returns the running cluster for a teardown.
func (p *Platform) teardown(ctx context.Context) (*teardown.Cluster, error) {
	config, err := p.Config(ctx, false)
	if err != nil {
		return nil, err
	}
	if config == nil {
		return nil, fmt.Errorf("%w: run `%s`", errNoCluster, p.About().Call("up"))
	}
	return p.clusterOf(ctx, config)
}

func (p *Platform) clusterOf(ctx context.Context, config *rest.Config) (*teardown.Cluster, error) {
	list, err := p.Tenants()
	if err != nil {
		return nil, err
	}
	// A team that was removed from teams.yaml may still have a namespace.
	byNamespace, err := TeamNamespaces(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%w: if the cluster is lost, `%s` creates it again", err, p.About().Call("up"))
	}
	for _, team := range list {
		byNamespace[team.Namespace()] = team.Name
	}
	about := p.About()
	namespaces := teardown.Namespaces{Flux: fluxcd.Namespace, Platform: platform.PlatformNamespace, Operator: platform.OperatorNamespace, Teams: slices.Sorted(maps.Keys(byNamespace))}
	return teardown.New(config, namespaces, teardown.Options{
		Patience: about.Patience, Limit: about.Limit, Kubectl: about.Kubectl, FluxLogs: about.FluxLogs, Purge: about.Purge,
	})
}

func namesOf(stacks []teardown.Stack) string {
	var names []string
	for _, stack := range stacks {
		names = append(names, stack.String())
	}
	return strings.Join(names, ", ")
}

package teamadmin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/inspect"
	"github.com/strata-platform/strata/internal/status/snapshot"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/teams"
)

// cluster is the platform in a cluster at one moment.
type cluster struct {
	report status.Report
	graph  *graph.Graph
	quotas []corev1.ResourceQuota
}

// look reads a cluster. It changes nothing.
func look(ctx context.Context, config *rest.Config, scope graph.Scope) (cluster, error) {
	s, err := snapshot.Take(ctx, config)
	if err != nil {
		return cluster{}, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return cluster{}, err
	}
	quotas, err := client.CoreV1().ResourceQuotas(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return cluster{}, fmt.Errorf("list the quotas: %w", err)
	}
	report, g := inspect.Of(s, scope)
	return cluster{report: report, graph: g, quotas: quotas.Items}, nil
}

// has reports whether the cluster has an object of a team's hop.
func (c cluster) has(team teams.Team) bool {
	return slices.ContainsFunc(graph.HopOf(team), func(k snapshot.Key) bool {
		o := c.graph.Objects[k]
		return o != nil && o.Content != nil
	})
}

// former returns the names of the teams that have a namespace and are not in the list, in the order of their namespaces.
func (c cluster) former(list []teams.Team) []string {
	var names []string
	for _, o := range c.graph.Of("Namespace") {
		if o.Content == nil || slices.ContainsFunc(list, func(t teams.Team) bool { return t.Namespace() == o.Name }) {
			continue
		}
		if name, found := o.Content.GetLabels()[hop.TeamLabel]; found {
			names = append(names, name)
		}
	}
	return names
}

// read reads the team's objects.
func (t *Team) read(c cluster) error {
	t.readAccounts(c.graph)
	t.readPolicy(c.graph)
	t.readQuota(c.quotas)
	t.readSyncs(c.graph)
	if err := t.readStacks(c.graph); err != nil {
		return fmt.Errorf("read the hop of team %s: %w", t.Name, err)
	}
	return nil
}

// readAccounts reads the team's service accounts, with its own account first. The account of plans is the operator's.
func (t *Team) readAccounts(g *graph.Graph) {
	t.Accounts = []string{}
	for _, o := range g.All("ServiceAccount", t.Namespace) {
		if o.Content == nil {
			continue
		}
		if _, found := o.Content.GetLabels()[hop.Label]; !found || o.Name == hop.PlanAccount {
			continue
		}
		if o.Name == t.Name {
			t.Accounts = slices.Insert(t.Accounts, 0, o.Name)
		} else {
			t.Accounts = append(t.Accounts, o.Name)
		}
	}
}

// readPolicy reads the resource types that the team's Programs may declare.
func (t *Team) readPolicy(g *graph.Graph) {
	if o := g.Get(hop.PolicyKind, t.Namespace, hop.PolicyName); o != nil && o.Content != nil {
		t.Allow, _, _ = unstructured.NestedStringSlice(o.Content.Object, "spec", "types")
	}
}

// readQuota reads the limits of the namespace and their use.
func (t *Team) readQuota(quotas []corev1.ResourceQuota) {
	t.Quota = []Quota{}
	for _, quota := range quotas {
		if quota.Namespace != t.Namespace {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
			hard, used := quota.Spec.Hard[name], quota.Status.Used[name]
			t.Quota = append(t.Quota, Quota{Resource: string(name), Used: used.String(), Hard: hard.String()})
		}
	}
}

// readSyncs reads the team's repository and the syncs that apply it.
func (t *Team) readSyncs(g *graph.Graph) {
	for _, kind := range []string{graph.GitRepository, graph.OCIRepository} {
		if o := g.Get(kind, t.Namespace, t.Name); o != nil {
			t.Repository = o.Text("spec", "url")
		}
	}
	if o := g.Get(graph.Bucket, t.Namespace, t.Name); o != nil {
		t.Repository = "https://" + o.Text("spec", "endpoint") + "/" + o.Text("spec", "bucketName")
	}
	for _, o := range g.All("Kustomization", t.Namespace) {
		t.Syncs = append(t.Syncs, Sync{
			Name: o.Name, Ready: o.Ready, Reason: o.Reason, Message: o.Message, Revision: o.Text("status", "lastAppliedRevision"),
		})
	}
}

// readStacks reads the team's Stacks.
func (t *Team) readStacks(g *graph.Graph) error {
	for _, o := range g.All("Stack", t.Namespace) {
		stack := Stack{Name: o.Name, Ready: o.Ready, Reason: o.Reason, Message: o.Message}
		if o.Content != nil {
			// The snapshot has shortened the status, so only the specification has the form of the API.
			var content pulumiv1.Stack
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": o.Content.Object["spec"]}, &content); err != nil {
				return fmt.Errorf("read Stack %s: %w", o.Name, err)
			}
			stack.Account = content.ServiceAccount()
		}
		t.Stacks = append(t.Stacks, stack)
	}
	return nil
}

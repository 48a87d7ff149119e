package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/teams"
)

// These are the states of a team.
const (
	// TeamReady means that the team's hop exists and everything that it applies is ready.
	TeamReady = "ready"
	// TeamNotReady means that something in the team's namespace is not ready.
	TeamNotReady = "not ready"
	// TeamNotMade means that only teams.yaml has the team.
	TeamNotMade = "not made yet"
	// TeamUnknown means that teams.yaml has the team, and that the list does not include the cluster.
	TeamUnknown = "unknown"
	// TeamChanged means that teams.yaml and the team's hop allow different things.
	TeamChanged = "changed"
	// TeamRemoved means that only the cluster has the team.
	TeamRemoved = "removed"
)

// TeamList lists the teams of teams.yaml and of the cluster.
type TeamList struct {
	// Cluster is "running", or the reason why the list does not include the cluster.
	Cluster string       `json:"cluster"`
	Teams   []TeamStatus `json:"teams"`
}

// TeamStatus describes a team: as it is in the cluster if its hop exists, and otherwise as it is in teams.yaml.
type TeamStatus struct {
	Name string `json:"name"`
	// State is one of the constants. Message names the remedy.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Namespace is the team's namespace. Accounts are the service accounts in it, the team's own first. GoogleAccount
	// is the Google service account of the team's Stacks.
	Namespace     string   `json:"namespace"`
	Accounts      []string `json:"accounts"`
	GoogleAccount string   `json:"googleAccount"`
	// Allow lists the types that the team's Programs may declare.
	Allow []string `json:"allow"`
	// Quota holds the limits and the present use of the namespace.
	Quota []TeamQuota `json:"quota"`
	// Repository is the URL that Flux applies from. It is empty if the team has no hop.
	Repository string      `json:"repository"`
	Syncs      []TeamSync  `json:"syncs"`
	Stacks     []TeamStack `json:"stacks"`
}

// TeamQuota is the quota of one resource in a team's namespace.
type TeamQuota struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Hard     string `json:"hard"`
}

// TeamSync is a sync that applies a folder of a team's repository.
type TeamSync struct {
	Name string `json:"name"`
	// Ready, Reason and Message are the sync's condition. Revision is the revision that the sync applied last.
	Ready    bool   `json:"ready"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Revision string `json:"revision"`
}

// TeamStack is a Stack of a team.
type TeamStack struct {
	Name string `json:"name"`
	// Account is the service account of the Stack.
	Account string `json:"account"`
	// Ready, Reason and Message are the Stack's condition.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// clusterRunning is the value of Cluster in a list that includes the cluster.
const clusterRunning = "running"

// ListTeams lists the teams of teams.yaml and, if the cluster runs, of the cluster.
func (p *Platform) ListTeams(ctx context.Context) (TeamList, error) {
	declared, err := p.Teams()
	if err != nil {
		return TeamList{}, err
	}
	up := p.Home.Call("up")
	list := TeamList{Cluster: clusterRunning, Teams: []TeamStatus{}}
	running, err := p.client.Status(ctx)
	switch {
	case errors.Is(err, supervisor.ErrNotRunning):
		list.Cluster = "nothing runs in " + p.Home.Dir()
	case err != nil:
		return TeamList{}, err
	case running.Cluster != supervisor.ClusterRunning:
		list.Cluster = "the cluster is " + string(running.Cluster)
	}
	if list.Cluster != clusterRunning {
		for _, team := range declared {
			status := declaredTeam(team)
			status.State, status.Message = TeamUnknown, list.Cluster+": run `"+up+"`"
			list.Teams = append(list.Teams, status)
		}
		return list, nil
	}
	c, err := p.clusterClient()
	if err != nil {
		return TeamList{}, err
	}
	made, err := teamNamespaces(ctx, c)
	if err != nil {
		return TeamList{}, err
	}
	for _, team := range declared {
		status := declaredTeam(team)
		if _, found := made[team.Namespace()]; found {
			delete(made, team.Namespace())
			if err := status.look(ctx, c); err != nil {
				return TeamList{}, err
			}
			status.judge(team, up)
		} else {
			status.Message = "run `" + up + "`"
		}
		list.Teams = append(list.Teams, status)
	}
	for _, namespace := range slices.Sorted(maps.Keys(made)) {
		status := declaredTeam(teams.Team{Name: made[namespace]})
		if err := status.look(ctx, c); err != nil {
			return TeamList{}, err
		}
		status.State, status.Message = TeamRemoved, "not in "+p.teamsFile()+" any more: run `"+up+"`, which removes it"
		list.Teams = append(list.Teams, status)
	}
	return list, nil
}

// declaredTeam returns the status of a team without a hop.
func declaredTeam(team teams.Team) TeamStatus {
	status := TeamStatus{
		Name: team.Name, State: TeamNotMade, Namespace: team.Namespace(), Accounts: []string{team.ServiceAccount()},
		GoogleAccount: team.GoogleAccountID() + "@" + home.Project + ".iam.gserviceaccount.com",
		Allow:         team.Allow, Quota: []TeamQuota{}, Syncs: []TeamSync{}, Stacks: []TeamStack{},
	}
	for _, account := range team.Accounts {
		status.Accounts = append(status.Accounts, account.Name)
	}
	hard := team.Quota.Hard()
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		status.Quota = append(status.Quota, TeamQuota{Resource: name, Hard: hard[name]})
	}
	return status
}

// judge sets the state of a team that both teams.yaml and the cluster have. up is the command that applies teams.yaml.
func (s *TeamStatus) judge(team teams.Team, up string) {
	s.State = TeamReady
	for _, sync := range s.Syncs {
		if !sync.Ready {
			s.State, s.Message = TeamNotReady, "sync "+sync.Name+": "+sync.Message
		}
	}
	for _, stack := range s.Stacks {
		if !stack.Ready {
			s.State, s.Message = TeamNotReady, "Stack "+stack.Name+": "+stack.Message
		}
	}
	if !slices.Equal(s.Allow, team.Allow) || !s.hasQuota(team.Quota.Hard()) {
		s.State, s.Message = TeamChanged, "teams.yaml says otherwise by now: run `"+up+"`"
	}
}

func (s *TeamStatus) hasQuota(hard map[string]string) bool {
	for _, q := range s.Quota {
		want, err := resource.ParseQuantity(hard[q.Resource])
		if hard[q.Resource] != "" && (err != nil || want.String() != q.Hard && want.Cmp(resource.MustParse(q.Hard)) != 0) {
			return false
		}
	}
	return true
}

// look reads the team's objects in the cluster.
func (s *TeamStatus) look(ctx context.Context, c client.Client) error {
	for _, step := range []func(context.Context, client.Client) error{s.lookAtAccounts, s.lookAtPolicy, s.lookAtQuota, s.lookAtSyncs, s.lookAtStacks} {
		if err := step(ctx, c); err != nil {
			return fmt.Errorf("look at the hop of team %s: %w", s.Name, err)
		}
	}
	return nil
}

func (s *TeamStatus) lookAtAccounts(ctx context.Context, c client.Client) error {
	var accounts corev1.ServiceAccountList
	if err := c.List(ctx, &accounts, client.InNamespace(s.Namespace), client.HasLabels{hop.Label}); err != nil {
		return err
	}
	others := []string{}
	for _, account := range accounts.Items {
		if account.Name != s.Name {
			others = append(others, account.Name)
		}
	}
	if len(accounts.Items) > len(others) {
		others = append([]string{s.Name}, others...)
	}
	s.Accounts = others
	return nil
}

func (s *TeamStatus) lookAtPolicy(ctx context.Context, c client.Client) error {
	policies, err := listOf(ctx, c, s.Namespace, hop.PolicyGroup, hop.PolicyVersion, hop.PolicyKind)
	for _, policy := range policies {
		if policy.GetName() == hop.PolicyName {
			s.Allow, _, err = unstructured.NestedStringSlice(policy.Object, "spec", "types")
		}
	}
	return err
}

func (s *TeamStatus) lookAtQuota(ctx context.Context, c client.Client) error {
	var quotas corev1.ResourceQuotaList
	if err := c.List(ctx, &quotas, client.InNamespace(s.Namespace)); err != nil {
		return err
	}
	s.Quota = []TeamQuota{}
	for _, quota := range quotas.Items {
		for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
			hard, used := quota.Spec.Hard[name], quota.Status.Used[name]
			s.Quota = append(s.Quota, TeamQuota{Resource: string(name), Used: used.String(), Hard: hard.String()})
		}
	}
	return nil
}

func (s *TeamStatus) lookAtSyncs(ctx context.Context, c client.Client) error {
	sources, err := listOf(ctx, c, s.Namespace, "source.toolkit.fluxcd.io", "v1", "GitRepository")
	if err != nil {
		return err
	}
	for _, source := range sources {
		if source.GetName() == s.Name {
			s.Repository, _, _ = unstructured.NestedString(source.Object, "spec", "url")
		}
	}
	syncs, err := listOf(ctx, c, s.Namespace, "kustomize.toolkit.fluxcd.io", "v1", "Kustomization")
	if err != nil {
		return err
	}
	for _, object := range syncs {
		sync := TeamSync{Name: object.GetName()}
		sync.Ready, sync.Reason, sync.Message = readiness(object)
		sync.Revision, _, _ = unstructured.NestedString(object.Object, "status", "lastAppliedRevision")
		s.Syncs = append(s.Syncs, sync)
	}
	return nil
}

func (s *TeamStatus) lookAtStacks(ctx context.Context, c client.Client) error {
	var list pulumiv1.StackList
	if err := c.List(ctx, &list, client.InNamespace(s.Namespace)); err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	for _, object := range list.Items {
		stack := TeamStack{Name: object.Name, Account: object.ServiceAccount(), Reason: "Pending", Message: "not looked at yet"}
		if ready := meta.FindStatusCondition(object.Status.Conditions, pulumiv1.ReadyCondition); ready != nil && ready.ObservedGeneration >= object.Generation {
			stack.Ready, stack.Reason, stack.Message = ready.Status == "True", ready.Reason, ready.Message
		}
		if object.DeletionTimestamp != nil {
			stack.Ready, stack.Reason, stack.Message = false, "Deleting", "being destroyed"
		}
		s.Stacks = append(s.Stacks, stack)
	}
	return nil
}

// listOf lists the objects of a kind. If the cluster does not have the kind, it returns none.
func listOf(ctx context.Context, c client.Client, namespace, group, version, kind string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil && !meta.IsNoMatchError(err) {
		return nil, err
	}
	return list.Items, nil
}

// readiness returns the Ready condition of an object.
func readiness(object unstructured.Unstructured) (ready bool, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True", fmt.Sprint(condition["reason"]), fmt.Sprint(condition["message"])
		}
	}
	return false, "Pending", "not looked at yet"
}

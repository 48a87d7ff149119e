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
	"github.com/strata-platform/strata/internal/local/home"
	"github.com/strata-platform/strata/internal/local/supervisor"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/teams"
)

// States of a team.
const (
	// TeamReady says that the team's hop is there, and what it applies is ready.
	TeamReady = "ready"
	// TeamNotReady says that something in the team's namespace is not.
	TeamNotReady = "not ready"
	// TeamNotMade says that the team is in teams.yaml only.
	TeamNotMade = "not made yet"
	// TeamUnknown says that the team is in teams.yaml, and that the cluster was not asked.
	TeamUnknown = "unknown"
	// TeamChanged says that teams.yaml allows the team something else than its hop does.
	TeamChanged = "changed"
	// TeamRemoved says that the team is in the cluster only.
	TeamRemoved = "removed"
)

// TeamList is every team of teams.yaml and of the cluster.
type TeamList struct {
	// Cluster is running, or why it was not asked.
	Cluster string       `json:"cluster"`
	Teams   []TeamStatus `json:"teams"`
}

// TeamStatus is what is known of a team: of one whose hop was made as the cluster has it, otherwise as teams.yaml says.
type TeamStatus struct {
	Name string `json:"name"`
	// State is one of the constants, and Message says what is to be done about it.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Namespace is the team's namespace, Accounts are those in it, its own first, and GoogleAccount is whom its Stacks act as
	// in Google Cloud.
	Namespace     string   `json:"namespace"`
	Accounts      []string `json:"accounts"`
	GoogleAccount string   `json:"googleAccount"`
	// Allow are the types that its Programs may declare.
	Allow []string `json:"allow"`
	// Quota is what its namespace may use, and does.
	Quota []TeamQuota `json:"quota"`
	// Repository is what is applied; empty where the team's hop was not made.
	Repository string      `json:"repository"`
	Syncs      []TeamSync  `json:"syncs"`
	Stacks     []TeamStack `json:"stacks"`
}

// TeamQuota bounds one resource of a team's namespace.
type TeamQuota struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Hard     string `json:"hard"`
}

// TeamSync applies a folder of a team's repository.
type TeamSync struct {
	Name string `json:"name"`
	// Ready, Reason and Message are the sync's condition, Revision is what it has applied last.
	Ready    bool   `json:"ready"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Revision string `json:"revision"`
}

// TeamStack is a Stack of a team.
type TeamStack struct {
	Name string `json:"name"`
	// Account is whom it runs as.
	Account string `json:"account"`
	// Ready, Reason and Message are its condition.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// clusterRunning is the Cluster of a list that asked it.
const clusterRunning = "running"

// ListTeams looks at the teams of teams.yaml and of the cluster, where that runs.
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

// declaredTeam is a team of which nothing was made.
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

// judge says how a team that is in teams.yaml and in the cluster is; up is the call that carries teams.yaml out.
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

// look takes what the cluster says of the team.
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

// listOf lists the objects of a kind; none where the cluster does not know it.
func listOf(ctx context.Context, c client.Client, namespace, group, version, kind string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil && !meta.IsNoMatchError(err) {
		return nil, err
	}
	return list.Items, nil
}

// readiness reads the Ready condition of an object.
func readiness(object unstructured.Unstructured) (ready bool, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True", fmt.Sprint(condition["reason"]), fmt.Sprint(condition["message"])
		}
	}
	return false, "Pending", "not looked at yet"
}

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// FluxNamespace is the namespace of Flux.
const FluxNamespace = "flux-system"

// Scope describes the parts of a platform.
type Scope struct {
	// Teams are the teams of the platform.
	Teams []teams.Team
	// Below are the items of layer 1 that the caller knows, such as the cluster.
	Below []Item
	// Engineer is the identity that runs layer 1; empty if unknown.
	Engineer string
	// Heads maps GitRepositories ("namespace/name") to the head revisions of their branches, such as "main@sha1:...". A
	// source with another revision has not fetched the latest push. A source without an entry is not checked.
	Heads map[string]string
	// Flags are the flags of commands in messages, such as "--target gke".
	Flags string
	// Call returns a command line of strata for messages, such as `strata up` for "up"; nil means "strata" and the words.
	Call func(words string) string
	// Kubectl is the beginning of kubectl's command lines in messages; empty means a command line with the kubeconfig of
	// `strata kubeconfig`.
	Kubectl string
}

// hopKinds are the kinds of the objects that a hop creates for a team, except its source and syncs.
var hopKinds = []string{"Namespace", "ServiceAccount", "RoleBinding", hop.PolicyKind, "Receiver"}

// layer returns the layer that an object belongs to, or "" if it belongs to none.
func (s Scope) layer(k key) string {
	namespace := k.namespace
	switch k.kind {
	case "ClusterRole":
		return LayerPlatform
	case "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		if k.name == platform.RolePlatform || k.name == platform.HopGuard {
			return LayerPlatform
		}
		return LayerSync
	case "Namespace":
		namespace = k.name
	}
	switch {
	case namespace == FluxNamespace:
		return LayerPlatform
	case namespace == platform.PlatformNamespace:
		// The first source and sync create further sources and syncs, which belong to layer 3.
		if slices.Contains([]string{"GitRepository", "Kustomization"}, k.kind) && k.name != platform.PlatformAccount {
			return LayerSync
		}
		return LayerPlatform
	case namespace == platform.OperatorNamespace:
		if slices.Contains([]string{"Namespace", "RoleBinding"}, k.kind) {
			return LayerPlatform
		}
		return LayerSync
	case !slices.ContainsFunc(s.Teams, func(t teams.Team) bool { return t.Namespace() == namespace }):
		return ""
	case slices.Contains(hopKinds, k.kind), k.name == handoff.TenantName && (k.kind == "Secret" || k.kind == "ConfigMap"):
		return LayerPlatform
	}
	return LayerTeam
}

// required returns the objects that every platform needs to be ready.
func (s Scope) required() []key {
	list := []key{
		{"Namespace", "", FluxNamespace},
		{"GitRepository", FluxNamespace, FluxNamespace},
		{"Kustomization", FluxNamespace, FluxNamespace},
		{"Deployment", FluxNamespace, sourceController},
		{"Deployment", FluxNamespace, kustomizeController},
		{"Namespace", "", platform.PlatformNamespace},
		{"ServiceAccount", platform.PlatformNamespace, platform.PlatformAccount},
		{"RoleBinding", platform.PlatformNamespace, platform.RolePlatform},
		{"GitRepository", platform.PlatformNamespace, platform.PlatformAccount},
		{"Kustomization", platform.PlatformNamespace, platform.PlatformAccount},
		{"ClusterRoleBinding", "", platform.RolePlatform},
		{"ValidatingAdmissionPolicy", "", platform.HopGuard},
		{"ValidatingAdmissionPolicyBinding", "", platform.HopGuard},
		{"Namespace", "", platform.OperatorNamespace},
		{"RoleBinding", platform.OperatorNamespace, platform.RolePlatform},
		{"Deployment", platform.OperatorNamespace, platform.OperatorAccount},
	}
	for role := range platform.ClusterRoles() {
		list = append(list, key{"ClusterRole", "", role})
	}
	for _, team := range s.Teams {
		list = append(list, hopOf(team)...)
	}
	return list
}

// hopOf returns the objects that a team's hop creates.
func hopOf(team teams.Team) []key {
	namespace, account := team.Namespace(), team.ServiceAccount()
	list := []key{
		{"Namespace", "", namespace},
		{hop.PolicyKind, namespace, hop.PolicyName},
		{"Secret", namespace, handoff.TenantName},
		{"ConfigMap", namespace, handoff.TenantName},
		{"RoleBinding", namespace, "strata-operator"},
		{"ServiceAccount", namespace, account},
		{"RoleBinding", namespace, bindingOf(team, account)},
		{"GitRepository", namespace, account},
		{"Kustomization", namespace, account},
	}
	for _, more := range team.Accounts {
		list = append(list, key{"ServiceAccount", namespace, more.Name}, key{"RoleBinding", namespace, bindingOf(team, more.Name)})
		if more.Path != "" {
			list = append(list, key{"Kustomization", namespace, more.Name})
		}
	}
	return list
}

// bindingOf returns the name of the hop's RoleBinding for an account of a team.
func bindingOf(team teams.Team, account string) string {
	if account == team.ServiceAccount() {
		return "strata-team"
	}
	return "strata-account-" + account
}

// team returns the team that a namespace belongs to.
func (s Scope) team(namespace string) (teams.Team, bool) {
	i := slices.IndexFunc(s.Teams, func(t teams.Team) bool { return t.Namespace() == namespace })
	if i < 0 {
		return teams.Team{}, false
	}
	return s.Teams[i], true
}

// owner returns who can solve problems in a namespace: its team, or the platform team.
func (s Scope) owner(namespace string) string {
	if team, ok := s.team(namespace); ok {
		return "team " + team.Name
	}
	return platformTeam
}

const platformTeam = "the platform team"

// place returns the position of a namespace within a layer.
func (s Scope) place(namespace string) int {
	order := []string{"", FluxNamespace, platform.PlatformNamespace, platform.OperatorNamespace}
	for _, team := range s.Teams {
		order = append(order, team.Namespace())
	}
	return slices.Index(order, namespace)
}

// command returns a command line of strata, in backquotes for a message.
func (s Scope) command(words ...string) string {
	return "`" + s.call(strings.TrimSpace(strings.Join(words, " ")+" "+s.Flags)) + "`"
}

func (s Scope) call(words string) string {
	if s.Call == nil {
		return "strata " + words
	}
	return s.Call(words)
}

// kubectl returns a command line of kubectl, in backquotes for a message.
func (s Scope) kubectl(format string, args ...any) string {
	begin := cmp.Or(s.Kubectl, `kubectl --kubeconfig "$(`+s.call("kubeconfig")+`)"`)
	return "`" + begin + " " + fmt.Sprintf(format, args...) + "`"
}

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

// FluxNamespace is where Flux lives.
const FluxNamespace = "flux-system"

// Scope says what a platform consists of.
type Scope struct {
	// Teams are the teams of the platform.
	Teams []teams.Team
	// Below are the items of layer 1 that the caller knows, such as the cluster.
	Below []Item
	// Engineer is as whom layer 1 runs; empty where that is not known.
	Engineer string
	// Heads are the revisions at which the branches of GitRepositories are, such as "main@sha1:...", by namespace and name
	// with a slash between them. A source that has another one has not fetched what was pushed last. A source that is not
	// among them is not compared.
	Heads map[string]string
	// Flags end the commands in messages, such as "--target gke".
	Flags string
	// Call writes the call of strata in messages, such as `strata up` for "up"; nil where the name and the words will do.
	Call func(words string) string
	// Kubectl begins the calls of kubectl in messages; by default it is one for the cluster that `strata kubeconfig` knows.
	Kubectl string
}

// hopKinds are the kinds of what a hop makes for a team, its source and syncs apart.
var hopKinds = []string{"Namespace", "ServiceAccount", "RoleBinding", hop.PolicyKind, "Receiver"}

// layer is the layer that an object belongs to; empty for what is nobody's.
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
		// What the first source and sync bring are sources and syncs, too.
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

// required are the objects without which no platform is ready, whatever is applied to it.
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

// hopOf are the objects that a team's hop makes.
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

// bindingOf is the name of the RoleBinding by which a hop gives an account of a team its rights.
func bindingOf(team teams.Team, account string) string {
	if account == team.ServiceAccount() {
		return "strata-team"
	}
	return "strata-account-" + account
}

// team is the team whose namespace it is.
func (s Scope) team(namespace string) (teams.Team, bool) {
	i := slices.IndexFunc(s.Teams, func(t teams.Team) bool { return t.Namespace() == namespace })
	if i < 0 {
		return teams.Team{}, false
	}
	return s.Teams[i], true
}

// owner is who can mend what belongs to a namespace: its team, or the platform team.
func (s Scope) owner(namespace string) string {
	if team, ok := s.team(namespace); ok {
		return "team " + team.Name
	}
	return platformTeam
}

const platformTeam = "the platform team"

// place orders namespaces within a layer.
func (s Scope) place(namespace string) int {
	order := []string{"", FluxNamespace, platform.PlatformNamespace, platform.OperatorNamespace}
	for _, team := range s.Teams {
		order = append(order, team.Namespace())
	}
	return slices.Index(order, namespace)
}

// command is a command of strata's, in the quotes of a message.
func (s Scope) command(words ...string) string {
	return "`" + s.call(strings.TrimSpace(strings.Join(words, " ")+" "+s.Flags)) + "`"
}

func (s Scope) call(words string) string {
	if s.Call == nil {
		return "strata " + words
	}
	return s.Call(words)
}

// kubectl is a call of kubectl, in the quotes of a message.
func (s Scope) kubectl(format string, args ...any) string {
	begin := cmp.Or(s.Kubectl, `kubectl --kubeconfig "$(`+s.call("kubeconfig")+`)"`)
	return "`" + begin + " " + fmt.Sprintf(format, args...) + "`"
}

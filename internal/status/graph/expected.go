package graph

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/artifactguard"
	"github.com/strata-platform/strata/teams"
)

// hopKinds are the kinds of the objects that a hop creates for a team, except its source and syncs.
var hopKinds = []string{"Namespace", "ServiceAccount", "RoleBinding", hop.PolicyKind, "Receiver"}

// layer returns the layer that an object belongs to, or "" if it belongs to none.
func (s Scope) layer(k snapshot.Key) string {
	namespace := k.Namespace
	switch k.Kind {
	case "ClusterRole":
		return status.LayerPlatform
	case "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		if k.Name == platform.RolePlatform || k.Name == platform.HopGuard || strings.HasPrefix(k.Name, artifactguard.Prefix) {
			return status.LayerPlatform
		}
		return status.LayerSync
	case "Namespace":
		namespace = k.Name
	}
	switch {
	case namespace == FluxNamespace:
		return status.LayerPlatform
	case namespace == platform.PlatformNamespace:
		// The first source and sync create further sources and syncs, which belong to layer 3.
		if slices.Contains([]string{GitRepository, OCIRepository, "Kustomization"}, k.Kind) && k.Name != platform.PlatformAccount {
			return status.LayerSync
		}
		return status.LayerPlatform
	case namespace == platform.OperatorNamespace:
		if slices.Contains([]string{"Namespace", "RoleBinding"}, k.Kind) {
			return status.LayerPlatform
		}
		return status.LayerSync
	case !slices.ContainsFunc(s.Teams, func(t teams.Team) bool { return t.Namespace() == namespace }):
		return ""
	case slices.Contains(hopKinds, k.Kind), k.Name == handoff.TenantName && (k.Kind == "Secret" || k.Kind == "ConfigMap"):
		return status.LayerPlatform
	}
	return status.LayerTeam
}

// Required returns the keys of the objects that a ready platform has: those of Flux and the operator, and each team's hop.
func (s Scope) Required() []snapshot.Key {
	list := []snapshot.Key{
		snapshot.NewKey("Namespace", "", FluxNamespace),
		snapshot.NewKey("GitRepository", FluxNamespace, FluxNamespace),
		snapshot.NewKey("Kustomization", FluxNamespace, FluxNamespace),
		snapshot.NewKey("Deployment", FluxNamespace, SourceController),
		snapshot.NewKey("Deployment", FluxNamespace, KustomizeController),
		snapshot.NewKey("Namespace", "", platform.PlatformNamespace),
		snapshot.NewKey("ServiceAccount", platform.PlatformNamespace, platform.PlatformAccount),
		snapshot.NewKey("RoleBinding", platform.PlatformNamespace, platform.RolePlatform),
		snapshot.NewKey(GitRepository, platform.PlatformNamespace, platform.PlatformAccount),
		snapshot.NewKey("Kustomization", platform.PlatformNamespace, platform.PlatformAccount),
		snapshot.NewKey("ClusterRoleBinding", "", platform.RolePlatform),
		snapshot.NewKey("ValidatingAdmissionPolicy", "", platform.HopGuard),
		snapshot.NewKey("ValidatingAdmissionPolicyBinding", "", platform.HopGuard),
		snapshot.NewKey("Namespace", "", platform.OperatorNamespace),
		snapshot.NewKey("RoleBinding", platform.OperatorNamespace, platform.RolePlatform),
		snapshot.NewKey("Deployment", platform.OperatorNamespace, platform.OperatorAccount),
	}
	for role := range platform.ClusterRoles() {
		list = append(list, snapshot.NewKey("ClusterRole", "", role))
	}
	for _, team := range s.Teams {
		list = append(list, HopOf(team)...)
	}
	for i, k := range list {
		if kind := s.sources[k.Namespace]; kind != "" && k.Kind == GitRepository {
			list[i] = snapshot.NewKey(kind, k.Namespace, k.Name)
		}
	}
	return list
}

// findSources records the kinds of the platform's own sources, as its Kustomizations name them: layer 2's configuration decides whether
// Flux fetches the platform from Git or from a registry.
func (s *Scope) findSources(kustomizations []*unstructured.Unstructured) {
	s.sources = map[string]string{}
	for _, each := range kustomizations {
		team, isTeams := s.Team(each.GetNamespace())
		own := each.GetNamespace() == platform.PlatformNamespace && each.GetName() == platform.PlatformAccount
		if own || isTeams && team.Offer != "" && each.GetName() == team.ServiceAccount() {
			s.sources[each.GetNamespace()] = Text(each, "spec", "sourceRef", "kind")
		}
	}
}

// sourceKind returns the kind of a team's source.
func sourceKind(team teams.Team) string {
	switch {
	case team.Artifacts():
		return OCIRepository
	case team.Objects():
		return Bucket
	}
	return GitRepository
}

// HopOf returns the keys of the objects that a team's hop creates.
func HopOf(team teams.Team) []snapshot.Key {
	namespace, account := team.Namespace(), team.ServiceAccount()
	list := []snapshot.Key{
		snapshot.NewKey("Namespace", "", namespace),
		snapshot.NewKey(hop.PolicyKind, namespace, hop.PolicyName),
		snapshot.NewKey("Secret", namespace, handoff.TenantName),
		snapshot.NewKey("ConfigMap", namespace, handoff.TenantName),
		snapshot.NewKey("RoleBinding", namespace, hop.BindingName(hop.PartOperator)),
		snapshot.NewKey("ServiceAccount", namespace, account),
		snapshot.NewKey("RoleBinding", namespace, BindingOf(team, account)),
		snapshot.NewKey(sourceKind(team), namespace, account),
		snapshot.NewKey("Kustomization", namespace, account),
	}
	for _, more := range team.Accounts {
		list = append(list, snapshot.NewKey("ServiceAccount", namespace, more.Name), snapshot.NewKey("RoleBinding", namespace, BindingOf(team, more.Name)))
		if more.Path != "" {
			list = append(list, snapshot.NewKey("Kustomization", namespace, more.Name))
		}
	}
	return list
}

// BindingOf returns the name of the hop's RoleBinding for an account of a team.
func BindingOf(team teams.Team, account string) string {
	if account == team.ServiceAccount() {
		return hop.BindingName(hop.PartTeam)
	}
	return hop.BindingName(hop.PartAccount + account)
}

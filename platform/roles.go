package platform

import (
	"slices"

	admission "k8s.io/api/admissionregistration/v1"
	rbac "k8s.io/api/rbac/v1"

	"github.com/strata-platform/strata/components/hop"
)

// Names of the ClusterRoles that this layer makes, and of the one binding of them that sync/ makes. Nothing above this
// layer makes ClusterRoles.
const (
	// RolePlatform is what the platform account may do outside of a namespace.
	RolePlatform = "strata:platform"
	// RoleOperator is what the operator may see in every namespace. The platform account may bind it, and no other role.
	RoleOperator = "strata:operator"
	// OperatorBinding is the one ClusterRoleBinding that the platform account may keep, for RoleOperator.
	OperatorBinding = "pulumi-operator"
	// RoleOperatorTenant is what the operator may do in a team's namespace.
	RoleOperatorTenant = "strata:operator-tenant"
	// RoleTeam is what a team's account may do in the team's namespace: RoleTeamWorkloads and RoleTeamStacks together.
	RoleTeam = "strata:team"
	// RoleTeamWorkloads is for what runs, RoleTeamStacks for Stacks and what their Programs make in the namespace, and
	// RoleTeamSources for Flux's sources. Where a team has several accounts, each gets those of them that teams.yaml says.
	RoleTeamWorkloads = "strata:team-workloads"
	RoleTeamStacks    = "strata:team-stacks"
	RoleTeamSources   = "strata:team-sources"
)

// Namespaces and accounts of the platform itself.
const (
	// PlatformNamespace holds the sync of this repository, and PlatformAccount is whom it is applied as.
	PlatformNamespace = "platform"
	PlatformAccount   = "platform"
	// OperatorNamespace holds the operator, and OperatorAccount is whom it runs as.
	OperatorNamespace = "pulumi-kubernetes-operator"
	OperatorAccount   = "pulumi-operator"
	// OperatorSource is the one source that the platform account may keep: the repository of upstream's operator.
	OperatorSource = "pulumi-operator"
)

// Policies are the names of the admission policies that the platform account may keep, each with a binding of its own name
// for what is made, and one ending in -update for what is changed.
var Policies = []string{"strata-programs", "strata-stacks", "strata-sources", "strata-syncs"}

func bindings(policies []string) []string {
	var names []string
	for _, name := range policies {
		names = append(names, name, name+"-update")
	}
	return names
}

// ClusterRoles returns the rules of each ClusterRole of this layer, by its name, where the operator is the embedded one.
func ClusterRoles() map[string][]rbac.PolicyRule {
	workloads := []rbac.PolicyRule{
		allow("", change, "configmaps", "secrets", "services", "persistentvolumeclaims"),
		allow("apps", change, "deployments", "statefulsets"),
		allow("batch", change, "jobs", "cronjobs"),
		allow("autoscaling", change, "horizontalpodautoscalers"),
		allow("policy", change, "poddisruptionbudgets"),
		allow("networking.k8s.io", change, "ingresses"),
		// What Flux and Pulumi look at to see whether the objects above are ready, and a team to see why not.
		allow("", look, "pods", "events", "endpoints"),
		allow("", []string{"get"}, "pods/log"),
		allow("apps", look, "replicasets"),
		allow("discovery.k8s.io", look, "endpointslices"),
	}
	stacks := []rbac.PolicyRule{
		allow("pulumi.com", change, "stacks", "programs"),
		// What a Program makes for the pods that use its results.
		allow("", change, "configmaps", "secrets"),
	}
	// Whether a commit was applied and why not, and what the platform allows, for whoever wonders why something was refused.
	hops := []rbac.PolicyRule{
		allow("kustomize.toolkit.fluxcd.io", look, "kustomizations"),
		allow("source.toolkit.fluxcd.io", look, "gitrepositories"),
		allow("", look, "resourcequotas", "limitranges"),
		allow(hop.PolicyGroup, look, hop.PolicyPlural),
	}
	return map[string][]rbac.PolicyRule{
		RolePlatform: {
			named("apiextensions.k8s.io", "customresourcedefinitions", "stacks.pulumi.com", "programs.pulumi.com"),
			// A binding is checked twice: the object by its name here, the role that it refers to by the verb bind.
			named(rbac.GroupName, "clusterrolebindings", OperatorBinding),
			{APIGroups: []string{rbac.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{RoleOperator}, Verbs: []string{"bind"}},
			named(admission.GroupName, "validatingadmissionpolicies", Policies...),
			named(admission.GroupName, "validatingadmissionpolicybindings", bindings(Policies)...),
			// Who makes a policy with parameters has to be able to read them in every namespace. They hold no secrets.
			allow(hop.PolicyGroup, []string{"get"}, hop.PolicyPlural),
		},
		// It looks everywhere, for it does not know who the teams are; what it changes is in their namespaces.
		RoleOperator: {
			// A Stack or Program that comes or changes is told by a watch, which a list begins where the API server streams
			// none; what is run is read anew. Of the config that a Program may refer to, the list of its Stacks tells.
			allow("pulumi.com", look, "stacks", "programs"),
		},
		RoleOperatorTenant: {
			// A Stack's finalizer, and what became of it and of its Program.
			allow("pulumi.com", []string{"patch"}, "stacks", "stacks/status", "programs/status"),
			// An event that comes again is counted by a patch.
			allow("events.k8s.io", []string{"create", "patch"}, "events"),
			// What a Stack refers to is read by its name; a list tells from which version on a watch tells of changes.
			allow("", look, "secrets", "configmaps"),
			// The same of where a source's artifact is.
			allow("source.toolkit.fluxcd.io", look, sources...),
			// Which types the team's projects from Git may declare, where no admission policy can look, and whom to ask.
			allow(hop.PolicyGroup, look, hop.PolicyPlural),
			// A Stack runs as the account that it names, with a token of its own.
			allow("", []string{"create"}, "serviceaccounts/token"),
		},
		RoleTeam:          slices.Concat(workloads, stacks[:1], hops),
		RoleTeamWorkloads: slices.Concat(workloads, hops),
		RoleTeamStacks:    slices.Concat(stacks, hops),
		RoleTeamSources:   {allow("source.toolkit.fluxcd.io", change, sources...)},
	}
}

// UpstreamClusterRoles returns the same where the operator is upstream's. It keeps a copy of every Secret, ConfigMap, Pod,
// Service and StatefulSet of the cluster in memory, so that it has to read them all; what it changes is within the teams'
// namespaces, unlike with the ClusterRole that it comes with, by which it could put a pod into Flux's namespace.
func UpstreamClusterRoles() map[string][]rbac.PolicyRule {
	roles := ClusterRoles()
	roles[RolePlatform][0] = named("apiextensions.k8s.io", "customresourcedefinitions",
		"stacks.pulumi.com", "programs.pulumi.com", "workspaces.auto.pulumi.com", "updates.auto.pulumi.com")
	roles[RoleOperator] = append(roles[RoleOperator],
		allow("", look, "secrets", "configmaps", "pods", "services"),
		allow("apps", look, "statefulsets"),
		allow("auto.pulumi.com", look, "workspaces", "updates"),
		allow("source.toolkit.fluxcd.io", look, sources...),
	)
	roles[RoleOperatorTenant] = append(reports(),
		// The pod in which a Stack runs, and how the operator reaches it.
		allow("apps", change, "statefulsets"),
		allow("", change, "services"),
		allow("", []string{"update", "delete"}, "pods"),
		allow("auto.pulumi.com", change, "workspaces", "updates"),
		allow("auto.pulumi.com", []string{"get", "patch", "update"}, "workspaces/status", "updates/status"),
		allow("auto.pulumi.com", []string{"update"}, "workspaces/finalizers", "updates/finalizers"),
		allow("auto.pulumi.com", []string{"use"}, "workspaces/rpc"),
		// A run's outputs.
		allow("", []string{"create"}, "secrets"),
	)
	return roles
}

// reports is what it takes upstream to say what became of Stacks and Programs.
func reports() []rbac.PolicyRule {
	return []rbac.PolicyRule{
		allow("pulumi.com", []string{"patch", "update"}, "stacks", "programs"),
		allow("pulumi.com", []string{"get", "patch", "update"}, "stacks/status", "programs/status"),
		allow("pulumi.com", []string{"update"}, "stacks/finalizers", "programs/finalizers"),
		allow("events.k8s.io", []string{"create", "patch"}, "events"),
		allow("", []string{"create", "patch"}, "events"),
	}
}

// OperatorRole returns the rules of the Role that the embedded operator has in its own namespace: Secrets there keep what
// destroying the teams' Stacks takes, for when the teams' own are deleted together with them.
func OperatorRole() []rbac.PolicyRule {
	// A record is made before a Stack's first run, patched when what it holds has changed, read when the Stack is deleted and
	// something that it refers to is gone, and deleted with the Stack.
	return []rbac.PolicyRule{allow("", []string{"get", "create", "patch", "delete"}, "secrets")}
}

// UpstreamOperatorRole returns the rules of the Role that upstream's operator has in its own namespace: one of its copies is
// the leader, and it calls workspaces with a token of its own account.
func UpstreamOperatorRole() []rbac.PolicyRule {
	return []rbac.PolicyRule{
		allow("coordination.k8s.io", change, "leases"),
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{OperatorAccount}, Verbs: []string{"create"}},
	}
}

// NamespaceRoles returns the rules of the Role that the platform account has in each namespace of the platform, by the
// namespace.
func NamespaceRoles() map[string][]rbac.PolicyRule {
	return map[string][]rbac.PolicyRule{
		PlatformNamespace: {
			allow("kustomize.toolkit.fluxcd.io", change, "kustomizations"),
		},
		OperatorNamespace: {
			allow("", change, "serviceaccounts", "services", "configmaps"),
			allow("apps", change, "deployments"),
			// What Flux looks at to see whether a Deployment is ready.
			allow("apps", look, "replicasets"),
			allow("", look, "pods"),
		},
	}
}

// UpstreamNamespaceRoles returns the same where the operator is upstream's, whose kinds come out of a repository of its own.
func UpstreamNamespaceRoles() map[string][]rbac.PolicyRule {
	roles := NamespaceRoles()
	roles[PlatformNamespace] = append(roles[PlatformNamespace], named("source.toolkit.fluxcd.io", "gitrepositories", OperatorSource))
	return roles
}

var (
	look   = []string{"get", "list", "watch"}
	change = []string{"get", "list", "watch", "create", "patch", "update", "delete"}

	sources = []string{"gitrepositories", "ocirepositories", "buckets"}
)

func allow(group string, verbs []string, resources ...string) rbac.PolicyRule {
	return rbac.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// named allows to keep certain objects and no others of their kind. Server-side apply names the object that it creates,
// so that even creating is bound to the names.
func named(group, resource string, names ...string) rbac.PolicyRule {
	return rbac.PolicyRule{
		APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names,
		Verbs: []string{"get", "create", "patch", "update", "delete"},
	}
}

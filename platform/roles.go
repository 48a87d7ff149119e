package platform

import rbac "k8s.io/api/rbac/v1"

// Names of the ClusterRoles that this layer makes, and of the one binding of them that sync/ makes. Nothing above this
// layer makes ClusterRoles.
const (
	// RolePlatform is what the platform account may do outside of a namespace.
	RolePlatform = "strata:platform"
	// RoleOperator is what the operator may do in every namespace. The platform account may bind it, and no other role.
	RoleOperator = "strata:operator"
	// OperatorBinding is the one ClusterRoleBinding that the platform account may keep, for RoleOperator.
	OperatorBinding = "pulumi-operator"
	// RoleOperatorTenant is what the operator may do in a team's namespace in addition.
	RoleOperatorTenant = "strata:operator-tenant"
	// RoleTeam is what a team's account may do in the team's namespace.
	RoleTeam = "strata:team"
)

// Namespaces and accounts of the platform itself.
const (
	// PlatformNamespace holds the sync of this repository, and PlatformAccount is whom it is applied as.
	PlatformNamespace = "platform"
	PlatformAccount   = "platform"
	// OperatorNamespace holds the operator, and OperatorAccount is whom it runs as.
	OperatorNamespace = "pulumi-kubernetes-operator"
	OperatorAccount   = "pulumi-operator"
)

// ClusterRoles returns the rules of each ClusterRole of this layer, by its name.
func ClusterRoles() map[string][]rbac.PolicyRule {
	return map[string][]rbac.PolicyRule{
		RolePlatform: {
			named("apiextensions.k8s.io", "customresourcedefinitions", "stacks.pulumi.com", "programs.pulumi.com"),
			// A binding is checked twice: the object by its name here, the role that it refers to by the verb bind.
			named(rbac.GroupName, "clusterrolebindings", OperatorBinding),
			{APIGroups: []string{rbac.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{RoleOperator}, Verbs: []string{"bind"}},
		},
		RoleOperator: {
			allow("pulumi.com", []string{"get", "list", "watch", "patch", "update"}, "stacks", "programs"),
			allow("pulumi.com", []string{"get", "patch", "update"}, "stacks/status", "programs/status"),
			allow("pulumi.com", []string{"update"}, "stacks/finalizers", "programs/finalizers"),
			allow("events.k8s.io", []string{"create", "patch"}, "events"),
			allow("", []string{"create", "patch"}, "events"),
		},
		RoleOperatorTenant: {
			allow("", []string{"get"}, "secrets", "configmaps"),
			// A Stack runs as the account that it names, with a token of its own.
			allow("", []string{"create"}, "serviceaccounts/token"),
		},
		RoleTeam: {
			allow("", change, "configmaps", "secrets", "services", "persistentvolumeclaims"),
			allow("apps", change, "deployments", "statefulsets"),
			allow("batch", change, "jobs", "cronjobs"),
			allow("autoscaling", change, "horizontalpodautoscalers"),
			allow("policy", change, "poddisruptionbudgets"),
			allow("networking.k8s.io", change, "ingresses"),
			allow("pulumi.com", change, "stacks", "programs"),
			// What Flux and Pulumi look at to see whether the objects above are ready, and a team to see why not.
			allow("", look, "pods", "events", "endpoints"),
			allow("", []string{"get"}, "pods/log"),
			allow("apps", look, "replicasets"),
			allow("discovery.k8s.io", look, "endpointslices"),
		},
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

var (
	look   = []string{"get", "list", "watch"}
	change = []string{"get", "list", "watch", "create", "patch", "update", "delete"}
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

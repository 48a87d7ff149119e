package platform

import (
	rbac "k8s.io/api/rbac/v1"
)

// upstreamClusterRoles returns the rules of each ClusterRole for upstream's operator. That operator caches every Secret,
// ConfigMap, Pod, Service and StatefulSet of the cluster, so it needs to read all of them. It may write in the teams'
// namespaces only. Its own ClusterRole would let it create a pod in Flux's namespace.
func upstreamClusterRoles() map[string][]rbac.PolicyRule {
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
		// The operator runs a Stack in a pod of a StatefulSet, and connects to it by a Service.
		allow("apps", change, "statefulsets"),
		allow("", change, "services"),
		allow("", []string{"update", "delete"}, "pods"),
		allow("auto.pulumi.com", change, "workspaces", "updates"),
		allow("auto.pulumi.com", []string{"get", "patch", "update"}, "workspaces/status", "updates/status"),
		allow("auto.pulumi.com", []string{"update"}, "workspaces/finalizers", "updates/finalizers"),
		allow("auto.pulumi.com", []string{"use"}, "workspaces/rpc"),
		// The operator writes a run's outputs into a Secret.
		allow("", []string{"create"}, "secrets"),
	)
	return roles
}

// reports returns the rules that upstream's operator needs to write the status of Stacks and Programs.
func reports() []rbac.PolicyRule {
	return []rbac.PolicyRule{
		allow("pulumi.com", []string{"patch", "update"}, "stacks", "programs"),
		allow("pulumi.com", []string{"get", "patch", "update"}, "stacks/status", "programs/status"),
		allow("pulumi.com", []string{"update"}, "stacks/finalizers", "programs/finalizers"),
		allow("events.k8s.io", []string{"create", "patch"}, "events"),
		allow("", []string{"create", "patch"}, "events"),
	}
}

// upstreamOperatorRole returns the rules of the Role of upstream's operator in its own namespace. Its replicas elect a
// leader, and it calls workspaces with a token of its own account.
func upstreamOperatorRole() []rbac.PolicyRule {
	return []rbac.PolicyRule{
		allow("coordination.k8s.io", change, "leases"),
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{OperatorAccount}, Verbs: []string{"create"}},
	}
}

// upstreamNamespaceRoles returns the rules of NamespaceRoles for upstream's operator, whose CustomResourceDefinitions
// come from a repository of its own.
func upstreamNamespaceRoles() map[string][]rbac.PolicyRule {
	roles := NamespaceRoles()
	roles[PlatformNamespace] = append(roles[PlatformNamespace], named("source.toolkit.fluxcd.io", "gitrepositories", OperatorSource))
	return roles
}

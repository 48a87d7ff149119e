package platform

import (
	"slices"

	admission "k8s.io/api/admissionregistration/v1"
	rbac "k8s.io/api/rbac/v1"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/platform/planrights"
)

// Names of the ClusterRoles that this layer creates, and of the one ClusterRoleBinding of them in sync/. Nothing above
// this layer creates ClusterRoles.
const (
	// RolePlatform holds the cluster-scoped permissions of the platform account.
	RolePlatform = "strata:platform"
	// RoleOperator holds the operator's permissions in every namespace, which only read. It is the only role that the
	// platform account may bind.
	RoleOperator = "strata:operator"
	// OperatorBinding is the only ClusterRoleBinding that the platform account may manage, for RoleOperator.
	OperatorBinding = "pulumi-operator"
	// RoleOperatorTenant holds the operator's permissions in a team's namespace.
	RoleOperatorTenant = "strata:operator-tenant"
	// RoleTeam holds the permissions of a team's account in the team's namespace: RoleTeamWorkloads and RoleTeamStacks
	// together.
	RoleTeam = "strata:team"
	// RoleTeamWorkloads is for workloads, RoleTeamStacks for Stacks and the objects that their Programs create in the
	// namespace, and RoleTeamSources for Flux's sources. A team with several accounts distributes these roles among them
	// in teams.yaml.
	RoleTeamWorkloads = "strata:team-workloads"
	RoleTeamStacks    = "strata:team-stacks"
	RoleTeamSources   = "strata:team-sources"
	// RoleTeamPlan holds the permissions of hop.PlanAccount in a team's namespace, which only read.
	RoleTeamPlan = "strata:team-plan"
	// RoleApprover holds the permissions, in a team's namespace, of those who may approve what the team's Stacks wait for.
	RoleApprover = "strata:approver"
)

// Namespaces and accounts of the platform itself.
const (
	// PlatformNamespace contains the sync of this repository. PlatformAccount is the account that Flux applies it under.
	PlatformNamespace = "platform"
	PlatformAccount   = "platform"
	// OperatorNamespace contains the operator. OperatorAccount is the operator's account.
	OperatorNamespace = handoff.OperatorNamespace
	OperatorAccount   = handoff.OperatorAccount
	// OperatorSource is the only source that the platform account may manage: the repository of upstream's operator.
	OperatorSource = "pulumi-operator"
)

// policies are the names of the admission policies that the platform account may manage. Each has a binding of the same
// name for create requests, and one ending in -update for update requests.
var policies = []string{"strata-programs", "strata-stacks", "strata-sources", "strata-syncs"}

// plainPolicies need no TenantPolicy, so each has one binding of the same name.
var plainPolicies = []string{"strata-artifacts", "strata-versions", "strata-approvals", "strata-plans"}

// stackLogs are the logs of the runs of Stacks, which the embedded operator writes (operator/stacklog).
const stackLogs = "stacklogs"

// plans are the plans of commits, which teams create and the embedded operator completes (operator/plan).
const plans = "plans"

// approvals are the approvals of plans, which the operator waits for (operator/approval).
const approvals = "approvals"

func bindings(policies []string) []string {
	var names []string
	for _, name := range policies {
		names = append(names, name, name+"-update")
	}
	return append(names, plainPolicies...)
}

// ClusterRoles returns the rules of each ClusterRole of this layer by its name, for the embedded operator.
func ClusterRoles() map[string][]rbac.PolicyRule {
	workloads := []rbac.PolicyRule{
		allow("", change, "configmaps", "secrets", "services", "persistentvolumeclaims"),
		allow("apps", change, "deployments", "statefulsets"),
		allow("batch", change, "jobs", "cronjobs"),
		allow("autoscaling", change, "horizontalpodautoscalers"),
		allow("policy", change, "poddisruptionbudgets"),
		allow("networking.k8s.io", change, "ingresses"),
		// Flux and Pulumi read these to see whether the objects above are ready, and a team to see why not.
		allow("", look, "pods", "events", "endpoints"),
		allow("", []string{"get"}, "pods/log"),
		allow("apps", look, "replicasets"),
		allow("discovery.k8s.io", look, "endpointslices"),
	}
	stacks := []rbac.PolicyRule{
		allow("pulumi.com", change, "stacks", "programs"),
		// A Program creates these for the pods that use its results.
		allow("", change, "configmaps", "secrets"),
	}
	// The team reads these to see whether Flux applied a commit, what the platform allows, and what the runs of its Stacks printed.
	hops := []rbac.PolicyRule{
		allow("kustomize.toolkit.fluxcd.io", look, "kustomizations"),
		allow("source.toolkit.fluxcd.io", look, "gitrepositories"),
		allow("", look, "resourcequotas", "limitranges"),
		allow(hop.PolicyGroup, look, hop.PolicyPlural, stackLogs, approvals),
		// The team plans its commits. The result is in the status, which only the operator writes.
		allow(hop.PolicyGroup, slices.Concat(look, []string{"create", "delete"}), plans),
	}
	return map[string][]rbac.PolicyRule{
		RolePlatform: {
			named("apiextensions.k8s.io", "customresourcedefinitions", "stacks.pulumi.com", "programs.pulumi.com", stackLogs+"."+hop.PolicyGroup, plans+"."+hop.PolicyGroup,
				approvals+"."+hop.PolicyGroup),
			// The API server checks a binding twice: the binding object by its name here, and the role that it refers to
			// by the verb bind.
			named(rbac.GroupName, "clusterrolebindings", OperatorBinding),
			{APIGroups: []string{rbac.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{RoleOperator}, Verbs: []string{"bind"}},
			named(admission.GroupName, "validatingadmissionpolicies", slices.Concat(policies, plainPolicies)...),
			named(admission.GroupName, "validatingadmissionpolicybindings", bindings(policies)...),
			// Kubernetes lets an account create a policy with parameters only if it can read them in every namespace.
			// They contain no secrets.
			allow(hop.PolicyGroup, []string{"get"}, hop.PolicyPlural),
		},
		// The operator reads in every namespace, because it does not know the teams. It writes in the teams' namespaces
		// only.
		RoleOperator: {
			// A watch reports new and changed Stacks and Programs. Where the API server does not stream the initial
			// state, the watch starts with a list. The operator reads an object again before it runs it. To find the
			// config that a Program may refer to, it lists the Program's Stacks.
			allow("pulumi.com", look, "stacks", "programs"),
			allow(hop.PolicyGroup, look, plans),
		},
		RoleOperatorTenant: {
			// The operator sets a Stack's finalizer, and writes the status of a Stack and its Program.
			allow("pulumi.com", []string{"patch"}, "stacks", "stacks/status", "programs/status"),
			// The operator counts a repeated event by a patch.
			allow("events.k8s.io", []string{"create", "patch"}, "events"),
			// The operator reads the objects that a Stack refers to by name. A list returns the resource version at which
			// a watch for changes starts.
			allow("", look, "secrets", "configmaps"),
			// The same for the location of a source's artifact.
			allow("source.toolkit.fluxcd.io", look, sources...),
			// The operator checks the types in a team's projects from Git, which no admission policy can read, and takes
			// the contact for its message from the same object.
			allow(hop.PolicyGroup, look, hop.PolicyPlural),
			// The operator writes the logs of runs. It never reads or deletes one: Kubernetes deletes them with their Stacks.
			allow(hop.PolicyGroup, []string{"create", "patch"}, stackLogs),
			// The operator writes the results of Plans, and deletes old Plans. It creates the Plan of a Stack that waits for an
			// approval, and lists the Approvals.
			allow(hop.PolicyGroup, []string{"create", "delete"}, plans), allow(hop.PolicyGroup, []string{"patch"}, plans+"/status"),
			allow(hop.PolicyGroup, []string{"list", "watch"}, approvals),
			// A Stack runs as the account that it names, with a token of that account.
			allow("", []string{"create"}, "serviceaccounts/token"),
		},
		RoleTeam:          slices.Concat(workloads, stacks[:1], hops),
		RoleTeamWorkloads: slices.Concat(workloads, hops),
		RoleTeamStacks:    slices.Concat(stacks, hops),
		RoleTeamSources:   {allow("source.toolkit.fluxcd.io", change, sources...)},
		RoleTeamPlan:      planrights.Rules(),
		RoleApprover: {
			allow(hop.PolicyGroup, look, plans), allow(hop.PolicyGroup, append([]string{"create"}, look...), approvals), allow("pulumi.com", look, "stacks"),
		},
	}
}

// OperatorRole returns the rules of the embedded operator's Role in its own namespace. Secrets there hold the values that
// a destroy of the teams' Stacks needs, in case a team's own Secrets are deleted together with its Stacks.
func OperatorRole() []rbac.PolicyRule {
	// The operator creates a record before a Stack's first run and patches it when its content changes. When the Stack is
	// deleted, the operator reads the record if an object that the Stack refers to is gone, and then deletes the record.
	return []rbac.PolicyRule{
		allow("", []string{"get", "create", "patch", "delete"}, "secrets"),
		// A token of the operator's own account, for Google Cloud, becomes the identity that answers the look-ups of plans.
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{OperatorAccount}, Verbs: []string{"create"}},
	}
}

// NamespaceRoles returns the rules of the platform account's Role in each of the platform's namespaces, by namespace, for
// the embedded operator.
func NamespaceRoles() map[string][]rbac.PolicyRule {
	return map[string][]rbac.PolicyRule{
		PlatformNamespace: {
			allow("kustomize.toolkit.fluxcd.io", change, "kustomizations"),
		},
		OperatorNamespace: {
			allow("", change, "serviceaccounts", "services", "configmaps"),
			allow("apps", change, "deployments"),
			// Flux reads these to see whether a Deployment is ready.
			allow("apps", look, "replicasets"),
			allow("", look, "pods"),
		},
	}
}

var (
	look   = []string{"get", "list", "watch"}
	change = []string{"get", "list", "watch", "create", "patch", "update", "delete"}

	sources = []string{"gitrepositories", "ocirepositories", "buckets"}
)

func allow(group string, verbs []string, resources ...string) rbac.PolicyRule {
	return rbac.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// named allows to manage the named objects and no others of their resource. Server-side apply puts the name into the
// request even for a create, so the rule restricts creation too.
func named(group, resource string, names ...string) rbac.PolicyRule {
	return rbac.PolicyRule{
		APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names,
		Verbs: []string{"get", "create", "patch", "update", "delete"},
	}
}

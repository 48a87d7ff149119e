package acts

import (
	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/teams"
)

const (
	coreNS   = "/api/v1/namespaces/{namespace}"
	pulumiNS = "/apis/pulumi.com/v1/namespaces/{namespace}/"
	strataNS = "/apis/strata.dev/v1/namespaces/{namespace}/"
	fluxKind = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{namespace}/kustomizations"
	sources  = "/apis/source.toolkit.fluxcd.io/v1/namespaces/{namespace}/gitrepositories"
	notifyNS = "/apis/notification.toolkit.fluxcd.io/v1beta3/namespaces/{namespace}/"
	workload = "/apis/apps/v1/namespaces/{namespace}/"
	networks = "/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"
	bindings = rbacAPI + "namespaces/{namespace}/rolebindings"

	aBinding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: strata-audit}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "
	approval = "{apiVersion: strata.dev/v1, kind: Approval, metadata: {name: strata-audit}, spec: {by: '{self}', plan: {name: strata-audit, uid: a, digest: 'sha256:0123456789012345678901234567890123456789012345678901234567890123'}}}"
	aPlan    = "{apiVersion: strata.dev/v1, kind: Plan, metadata: {name: strata-audit}, spec: {commit: '0123456789012345678901234567890123456789', account: '{account}', manifests: ''}}"
	aConfig  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: strata-audit}}"
	aStack   = "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: strata-audit}, spec: {stack: strata-audit, programRef: {name: strata-audit}, serviceAccountName: '{account}'}}"
	aLog     = "{apiVersion: strata.dev/v1, kind: StackLog, metadata: {name: strata-audit}}"
	sync     = "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: strata-audit}, spec: {interval: 1m, prune: true, path: ./, sourceRef: {kind: GitRepository, name: '{account}'}}}"
	source   = "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: strata-audit}, spec: {interval: 1m, url: 'https://example.com/strata-audit.git'}}"
	notified = "{apiVersion: notification.toolkit.fluxcd.io/v1beta3, metadata: {name: strata-audit}, "
)

// Lists of classes.
var (
	fetcher     = []audit.Class{audit.Fetcher}
	readers     = []audit.Class{audit.Fetcher, audit.Upstream}
	operator    = []audit.Class{audit.Operator, audit.Fetcher}
	operators   = []audit.Class{audit.Operator, audit.Upstream, audit.Fetcher}
	justOperate = []audit.Class{audit.Operator, audit.Upstream}
	embedded    = []audit.Class{audit.Operator}
	upstream    = []audit.Class{audit.Upstream}
)

// secrets are reads of Secrets beside those of the teams.
var secrets = []group{{why: "a Secret holds the credentials of others", area: audit.RBAC, scope: everywhere, acts: []act{
	{what: "list every Secret", method: get, path: "/api/v1/secrets", also: readers},
	{what: "list Flux's Secrets", method: get, path: fluxNS + "/secrets", also: readers},
	{what: "list the platform's Secrets", method: get, path: "/api/v1/namespaces/platform/secrets", also: readers},
	{what: "list the operator's Secrets", method: get, path: "/api/v1/namespaces/pulumi-kubernetes-operator/secrets", also: readers},
	{what: "request a token of the platform account", method: post, path: "/api/v1/namespaces/platform/serviceaccounts/platform/token", body: token, also: fetcher},
	{what: "request a token of the operator", method: post, path: "/api/v1/namespaces/pulumi-kubernetes-operator/serviceaccounts/pulumi-operator/token", body: token, also: operators},
}}}

// hops are changes of the objects that belong to the hop of a team.
var hops = []group{{why: "the layer below decides what a layer may do", area: audit.RBAC, scope: eachTeam, acts: []act{
	{what: "change a TenantPolicy", method: patch, path: strataNS + "tenantpolicies/strata", body: "{spec: {typePrefixes: ['']}}"},
	{what: "remove a quota", method: remove, path: coreNS + "/resourcequotas/strata"},
	{what: "remove the limits of pods", method: remove, path: coreNS + "/limitranges/strata"},
	{what: "remove a network policy", method: remove, path: networks + "/strata"},
	{what: "add a network policy", method: post, path: networks, body: "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: strata-audit}, spec: {podSelector: {}}}"},
	{what: "bind a role", method: post, path: bindings, body: aBinding + "'strata:team'}, " + toItself + "}"},
	{what: "become an approver", method: post, path: bindings, body: aBinding + "'strata:approver'}, " + toItself + "}"},
	{what: "change a role binding", method: patch, path: bindings + "/strata-team", body: nothing},
	{what: "create a HelmRelease", method: post, path: "/apis/helm.toolkit.fluxcd.io/v2/namespaces/{namespace}/helmreleases", body: "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: strata-audit}}", also: fetcher},
	{what: "point a Service at an address", method: post, path: coreNS + "/endpoints", body: "{apiVersion: v1, kind: Endpoints, metadata: {name: strata-audit}}"},
	{what: "loosen pod security", method: patch, path: coreNS, body: "{metadata: {labels: {pod-security.kubernetes.io/enforce: privileged}}}"},
	{what: "send events to others", method: post, path: notifyNS + "alerts", body: notified + "kind: Alert}", also: fetcher},
	{what: "send events with Flux's Secrets", method: post, path: notifyNS + "providers", body: notified + "kind: Provider}", also: fetcher},
	{what: "change an approval", method: patch, path: strataNS + "approvals/strata-audit", body: nothing},
}}, {why: "an approval is the consent of a person", area: audit.RBAC, scope: eachTeam, acts: []act{
	{what: "approve a Plan", method: post, path: strataNS + "approvals", body: approval},
}}}

// crossings are acts in the namespace of another team.
var crossings = []group{{why: "a team's namespace belongs to the team", area: audit.RBAC, scope: otherTeams, acts: []act{
	{what: "list Secrets of another team", method: get, path: coreNS + "/secrets", also: operators},
	{what: "read the context of another team", method: get, path: coreNS + "/secrets/strata-context", also: operators},
	{what: "write a Secret of another team", method: post, path: coreNS + "/secrets", body: "{apiVersion: v1, kind: Secret, metadata: {name: strata-audit}}", also: upstream},
	{what: "request a token of another team", method: post, path: coreNS + "/serviceaccounts/{account}/token", body: token, also: operator},
	{what: "read Stacks of another team", method: get, path: pulumiNS + "stacks", also: justOperate},
	{what: "create a Stack of another team", method: post, path: pulumiNS + "stacks", body: aStack},
	{what: "delete the Stacks of another team", method: remove, path: pulumiNS + "stacks"},
	{what: "write a Program of another team", method: post, path: pulumiNS + "programs", body: "{apiVersion: pulumi.com/v1, kind: Program, metadata: {name: strata-audit}, program: {}}"},
	{what: "write a ConfigMap of another team", method: post, path: coreNS + "/configmaps", body: aConfig, also: fetcher},
	{what: "create a Deployment of another team", method: post, path: workload + "deployments", body: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: strata-audit}}"},
	{what: "list pods of another team", method: get, path: coreNS + "/pods", also: upstream},
	{what: "read a log of another team", method: get, path: strataNS + "stacklogs"},
	{what: "read the TenantPolicy of another team", method: get, path: strataNS + "tenantpolicies/strata", also: []audit.Class{audit.Operator, audit.Platform}},
	{what: "create a Plan of another team", method: post, path: strataNS + "plans", body: aPlan, also: embedded},
	{what: "read Plans of another team", method: get, path: strataNS + "plans", also: justOperate},
	{what: "read the source of another team", method: get, path: sources, also: operators},
	{what: "read the sync of another team", method: get, path: fluxKind, also: fetcher},
	{what: "list the namespaces of all teams", method: get, path: "/api/v1/namespaces", also: fetcher},
}}}

// own are acts in the namespace of the identity's own team that RBAC refuses.
var own = []group{{why: "a team's account has the permissions of its hop only", area: audit.RBAC, scope: ownTeam, acts: []act{
	{what: "request a token of its own account", method: post, path: coreNS + "/serviceaccounts/{account}/token", body: token},
	{what: "request a token of the account of plans", method: post, path: coreNS + "/serviceaccounts/strata-plan/token", body: token},
	{what: "change an account", method: patch, path: coreNS + "/serviceaccounts/{account}", body: nothing},
	{what: "create an account", method: post, path: coreNS + "/serviceaccounts", body: "{apiVersion: v1, kind: ServiceAccount, metadata: {name: strata-audit}}"},
	{what: "change its source", method: patch, path: sources + "/{account}", body: nothing, may: teams.MaySources},
	{what: "change its sync", method: patch, path: fluxKind + "/{account}", body: nothing},
	{what: "create a TenantPolicy", method: post, path: strataNS + "tenantpolicies", body: "{apiVersion: strata.dev/v1, kind: TenantPolicy, metadata: {name: strata-audit}}"},
	{what: "execute a command in a pod", method: post, path: coreNS + "/pods/strata-audit/exec?command=id"},
	{what: "create a pod without a controller", method: post, path: coreNS + "/pods", body: "{apiVersion: v1, kind: Pod, metadata: {name: strata-audit}, " + podOf},
	{what: "run a pod on every node", method: post, path: workload + "daemonsets", body: "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: strata-audit}}"},
	{what: "delete its namespace", method: remove, path: coreNS},
	{what: "write the log of a Stack", method: post, path: strataNS + "stacklogs", body: aLog},
	{what: "write the status of a Stack", method: patch, path: pulumiNS + "stacks/strata-audit/status", body: nothing},
	{what: "write the result of a Plan", method: patch, path: strataNS + "plans/strata-audit/status", body: nothing},
}}}

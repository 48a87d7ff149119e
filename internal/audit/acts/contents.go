package acts

import "github.com/strata-platform/strata/internal/audit"

const (
	stackOf   = "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: strata-audit}, spec: {stack: strata-audit, programRef: {name: strata-audit}, "
	programOf = "{apiVersion: pulumi.com/v1, kind: Program, metadata: {name: strata-audit}, program: {resources: {audited: "
	podWith   = "{apiVersion: v1, kind: Pod, metadata: {name: strata-audit}, spec: {"
)

// contents are acts that RBAC allows for some objects of a kind, so that admission has to look into the object.
var contents = []group{
	{why: "admission looks into the objects that a team may write", area: audit.Admission, scope: ownTeam, acts: []act{
		{what: "run a Stack under another account", method: post, path: pulumiNS + "stacks", body: stackOf + "serviceAccountName: strata-plan}}"},
		{what: "run a Stack with a backend of its own", method: post, path: pulumiNS + "stacks", body: stackOf + "serviceAccountName: '{account}', backend: 'file:///strata-audit'}}"},
		{what: "run a Stack with Secrets of Flux", method: post, path: pulumiNS + "stacks", body: stackOf +
			"serviceAccountName: '{account}', envRefs: {AUDIT: {type: Secret, secret: {namespace: flux-system, name: flux-system, key: password}}}}}"},
		{what: "run a Stack from a foreign repository", method: post, path: pulumiNS + "stacks", body: "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: strata-audit}, " +
			"spec: {stack: strata-audit, projectRepo: 'https://example.com/strata-audit.git', branch: main, serviceAccountName: '{account}'}}"},
		{what: "read the stack of a lower layer", method: post, path: pulumiNS + "programs", body: programOf + "{type: 'pulumi:pulumi:StackReference', properties: {name: organization/strata-bootstrap/dev}}}}}"},
		{what: "declare a cluster", method: post, path: pulumiNS + "programs", body: programOf + "{type: 'gcp:container:Cluster'}}}}"},
		{what: "import an existing database", method: post, path: pulumiNS + "programs", body: programOf + "{type: 'gcp:sql:Database', properties: {name: '{team}', instance: strata}, options: {import: strata-audit}}}}}"},
		{what: "change its context", method: patch, path: coreNS + "/secrets/strata-context", body: "{stringData: {PULUMI_BACKEND_URL: 'file:///strata-audit'}}"},
		{what: "delete its context", method: remove, path: coreNS + "/secrets/strata-context"},
		{what: "keep a token of the account of plans in a Secret", method: post, path: coreNS + "/secrets", body: "{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, " +
			"metadata: {name: strata-audit, annotations: {kubernetes.io/service-account.name: strata-plan}}}"},
		{what: "decide whose signatures Flux trusts", method: post, path: coreNS + "/secrets", body: "{apiVersion: v1, kind: Secret, metadata: {name: strata-publisher}}"},
		{what: "put a Plan of its own on a commit", method: post, path: strataNS + "plans", body: "{apiVersion: strata.dev/v1, kind: Plan, metadata: {name: strata-audit}, " +
			"spec: {report: true, commit: '0123456789012345678901234567890123456789', account: '{account}', manifests: ''}}"},
	}},
	{why: "no two teams share a database or a repository", area: audit.Admission, scope: ownTeam, acts: []act{
		{what: "take over a database of another team", method: post, path: pulumiNS + "programs", body: programOf + "{type: 'gcp:sql:Database', properties: {name: '{other}_audit', instance: strata}}}}}", other: true},
		{what: "take over a user of another team", method: post, path: pulumiNS + "programs", body: programOf + "{type: 'gcp:sql:User', properties: {name: '{other}', host: '%', instance: strata, password: x}}}}}", other: true},
	}},
	{why: "a sync applies as the account of its team, and a source is the team's own", area: audit.Admission, scope: eachTeam, acts: []act{
		{what: "have Flux apply as itself", method: post, path: fluxKind, body: sync},
		{what: "have Flux fetch a foreign repository", method: post, path: sources, body: source},
	}},
	{why: "nobody approves in the name of somebody else", area: audit.Admission, scope: eachTeam, acts: []act{
		{what: "approve in the name of somebody else", method: post, path: strataNS + "approvals", guarded: true, body: "{apiVersion: strata.dev/v1, kind: Approval, metadata: {name: strata-audit}, " +
			"spec: {by: strata-audit, plan: {name: strata-audit, uid: a, digest: 'sha256:0123456789012345678901234567890123456789012345678901234567890123'}}}"},
	}},
	{why: "a pod of a team does not reach its node, whoever creates it", area: audit.Admission, scope: eachTeam, acts: []act{
		{what: "run a pod with a folder of the node", method: post, path: coreNS + "/pods", body: podWith + "volumes: [{name: v, hostPath: {path: /}}], containers: [{name: x, image: x}]}}", guarded: true},
		{what: "run a pod in the network of the node", method: post, path: coreNS + "/pods", body: podWith + "hostNetwork: true, containers: [{name: x, image: x}]}}", guarded: true},
		{what: "run a privileged container", method: post, path: coreNS + "/pods", body: podWith + "containers: [{name: x, image: x, securityContext: {privileged: true}}]}}", guarded: true},
	}},
}

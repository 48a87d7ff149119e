package acts

import (
	"net/http"

	"github.com/strata-platform/strata/internal/audit"
)

const (
	get    = http.MethodGet
	post   = http.MethodPost
	patch  = http.MethodPatch
	remove = http.MethodDelete
	apply  = "APPLY"

	rbacAPI      = "/apis/rbac.authorization.k8s.io/v1/"
	admissionAPI = "/apis/admissionregistration.k8s.io/v1/"
	kindAPI      = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	fluxNS       = "/api/v1/namespaces/flux-system"

	nothing    = "{}"
	token      = "{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, spec: {}}"
	everything = "rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]"
	toItself   = "subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: '{self}'}]"
	roleKind   = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "
	bindKind   = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: "
	adminRef   = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}"
	podOf      = "spec: {containers: [{name: x, image: x}]}}"
)

func kind(name, group, plural string) string {
	return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: " + name + "}, spec: {group: " + group +
		", scope: Namespaced, names: {plural: " + plural + ", kind: Thing}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}"
}

// climbs are requests that lead to the permissions of the cluster's administrator.
var climbs = []group{
	{why: "no identity grants permissions to itself", area: audit.RBAC, scope: everywhere, acts: []act{
		{what: "create a ClusterRole with every permission", method: post, path: rbacAPI + "clusterroles", body: roleKind + "strata-audit}, " + everything + "}"},
		{what: "extend the ClusterRole strata:platform", method: apply, path: rbacAPI + "clusterroles/strata:platform", body: roleKind + "'strata:platform'}, " + everything + "}"},
		{what: "extend the ClusterRole strata:operator", method: apply, path: rbacAPI + "clusterroles/strata:operator", body: roleKind + "'strata:operator'}, " + everything + "}"},
		{what: "extend the ClusterRole strata:team", method: apply, path: rbacAPI + "clusterroles/strata:team", body: roleKind + "'strata:team'}, " + everything + "}"},
		{what: "create a ClusterRole that is aggregated into admin", method: post, path: rbacAPI + "clusterroles", body: roleKind + "strata-audit, labels: {rbac.authorization.k8s.io/aggregate-to-admin: 'true'}}, " + everything + "}"},
		{what: "bind cluster-admin to itself", method: apply, path: rbacAPI + "clusterrolebindings/strata-audit", body: bindKind + "strata-audit}, " + adminRef + ", " + toItself + "}"},
		{what: "join the cluster's administrators", method: apply, path: rbacAPI + "clusterrolebindings/cluster-admin", body: bindKind + "cluster-admin}, " + adminRef + ", " + toItself + "}"},
		{what: "bind cluster-admin in Flux's namespace", method: post, path: rbacAPI + "namespaces/flux-system/rolebindings", body: "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: strata-audit}, " + adminRef + ", " + toItself + "}"},
		{what: "create a Role in the platform's namespace", method: post, path: rbacAPI + "namespaces/platform/roles", body: "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: strata-audit}, " + everything + "}"},
		{what: "bind cluster-admin under the name of the operator's binding", method: apply, path: rbacAPI + "clusterrolebindings/pulumi-operator", body: bindKind + "pulumi-operator}, " + adminRef + ", " + toItself + "}"},
	}},
	{why: "Flux applies as an administrator, so who controls Flux is one", area: audit.RBAC, scope: everywhere, acts: []act{
		{what: "request a token of Flux's kustomize-controller", method: post, path: fluxNS + "/serviceaccounts/kustomize-controller/token", body: token, also: []audit.Class{audit.Fetcher}},
		{what: "keep a token of Flux in a Secret", method: post, path: fluxNS + "/secrets", body: "{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: strata-audit, annotations: {kubernetes.io/service-account.name: kustomize-controller}}}"},
		{what: "create a pod in Flux's namespace", method: post, path: fluxNS + "/pods", body: "{apiVersion: v1, kind: Pod, metadata: {name: strata-audit}, spec: {serviceAccountName: kustomize-controller, containers: [{name: x, image: x}]}}", guarded: true},
		{what: "change a controller of Flux", method: patch, path: "/apis/apps/v1/namespaces/flux-system/deployments/kustomize-controller", body: nothing},
		{what: "change Flux's root sync", method: patch, path: "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/flux-system", body: nothing, also: []audit.Class{audit.Fetcher}},
		{what: "change Flux's own source", method: patch, path: "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/flux-system", body: nothing, also: []audit.Class{audit.Fetcher}},
		{what: "write into Flux's namespace", method: post, path: fluxNS + "/configmaps", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: strata-audit}}", also: []audit.Class{audit.Fetcher}},
		{what: "change Flux's namespace", method: patch, path: fluxNS, body: nothing},
		{what: "execute a command in a pod of Flux", method: post, path: fluxNS + "/pods/strata-audit/exec?command=id"},
		{what: "attach to a pod of Flux", method: post, path: fluxNS + "/pods/strata-audit/attach"},
		{what: "debug a pod of Flux", method: patch, path: fluxNS + "/pods/strata-audit/ephemeralcontainers", body: nothing},
		{what: "reach a pod of Flux through the API server", method: get, path: fluxNS + "/pods/strata-audit:8080/proxy/metrics"},
		{what: "change the platform's source", method: patch, path: "/apis/source.toolkit.fluxcd.io/v1/namespaces/platform/gitrepositories/platform", body: nothing, also: []audit.Class{audit.Fetcher}},
	}},
	{why: "the permission leads to every other permission", area: audit.RBAC, scope: everywhere, acts: []act{
		{what: "request a token of an account of the system", method: post, path: "/api/v1/namespaces/kube-system/serviceaccounts/default/token", body: token, also: []audit.Class{audit.Fetcher}},
		{what: "create a pod in the system's namespace", method: post, path: "/api/v1/namespaces/kube-system/pods", body: "{apiVersion: v1, kind: Pod, metadata: {name: strata-audit}, " + podOf},
		{what: "list the system's Secrets", method: get, path: "/api/v1/namespaces/kube-system/secrets", also: []audit.Class{audit.Fetcher, audit.Upstream}},
		{what: "reach a node through the API server", method: get, path: "/api/v1/nodes/strata-audit/proxy/pods"},
		{what: "list the nodes", method: get, path: "/api/v1/nodes"},
		{what: "change a node", method: patch, path: "/api/v1/nodes/strata-audit", body: nothing},
		{what: "create a volume of a node's folder", method: post, path: "/api/v1/persistentvolumes", body: "{apiVersion: v1, kind: PersistentVolume, metadata: {name: strata-audit}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /}}}"},
		{what: "create a namespace", method: post, path: "/api/v1/namespaces", body: "{apiVersion: v1, kind: Namespace, metadata: {name: strata-audit}}"},
		{what: "create a webhook that changes objects", method: post, path: admissionAPI + "mutatingwebhookconfigurations", body: "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: strata-audit}}"},
		{what: "create a webhook that rejects objects", method: post, path: admissionAPI + "validatingwebhookconfigurations", body: "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: strata-audit}}"},
		{what: "create an admission policy", method: post, path: admissionAPI + "validatingadmissionpolicies", body: "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: strata-audit}}"},
		{what: "create a policy that changes objects", method: post, path: admissionAPI + "mutatingadmissionpolicies", body: "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: strata-audit}}"},
		{what: "change the policy that fills in Stacks", method: patch, path: admissionAPI + "mutatingadmissionpolicies/strata-stack-defaults", body: nothing},
		{what: "remove the binding of the policy that fills in Stacks", method: remove, path: admissionAPI + "mutatingadmissionpolicybindings/strata-stack-defaults"},
		{what: "change the policy that protects hops", method: patch, path: admissionAPI + "validatingadmissionpolicies/strata-hops", body: nothing},
		{what: "remove the binding of the policy that protects hops", method: remove, path: admissionAPI + "validatingadmissionpolicybindings/strata-hops"},
		{what: "serve an API", method: post, path: "/apis/apiregistration.k8s.io/v1/apiservices", body: "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.strata-audit}}"},
		{what: "approve a certificate", method: patch, path: "/apis/certificates.k8s.io/v1/certificatesigningrequests/strata-audit/approval", body: nothing},
		{what: "request a certificate", method: post, path: "/apis/certificates.k8s.io/v1/certificatesigningrequests", body: "{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: strata-audit}}"},
		{what: "create a priority class", method: post, path: "/apis/scheduling.k8s.io/v1/priorityclasses", body: "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: strata-audit}, value: 1}"},
		{what: "create a kind of another group", method: apply, path: kindAPI + "/things.example.com", body: kind("things.example.com", "example.com", "things")},
		{what: "create a kind of Pulumi's group", method: apply, path: kindAPI + "/things.pulumi.com", body: kind("things.pulumi.com", "pulumi.com", "things")},
		{what: "change a kind of Flux", method: patch, path: kindAPI + "/kustomizations.kustomize.toolkit.fluxcd.io", body: nothing},
		{what: "change the kind TenantPolicy", method: patch, path: kindAPI + "/tenantpolicies.strata.dev", body: nothing},
		{what: "take over the election of a controller", method: patch, path: "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager", body: nothing, also: []audit.Class{audit.Fetcher}},
		{what: "read the API server's metrics", method: get, path: "/metrics"},
		{what: "mark the platform's namespace as a team's", method: patch, path: "/api/v1/namespaces/platform", body: "{metadata: {labels: {strata.dev/team: strata-audit}}}"},
	}},
}

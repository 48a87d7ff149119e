package platform_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/long"
)

func binding(name, role string) string {
	return fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: "%s"},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "%s"},
subjects: [{kind: ServiceAccount, namespace: platform, name: platform}]}`, name, role)
}

func bindingPath(name string) string { return rbacPath + "clusterrolebindings/" + name }

func kind(name, group, plural string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "%s"},
spec: {group: %s, scope: Namespaced, names: {plural: %s, kind: Thing},
versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`, name, group, plural)
}

const (
	rbacPath      = "/apis/rbac.authorization.k8s.io/v1/"
	kindPath      = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	admissionPath = "/apis/admissionregistration.k8s.io/v1/"
	token         = "{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, spec: {}}"
	nothing       = "{}"
	anApproval    = "{apiVersion: strata.dev/v1, kind: Approval, metadata: {name: mine}, spec: {by: me, plan: {name: mine, uid: a, digest: 'sha256:0123456789012345678901234567890123456789012345678901234567890123'}}}"
	aPlan         = "{apiVersion: strata.dev/v1, kind: Plan, metadata: {name: mine}, spec: {commit: '0123456789012345678901234567890123456789', account: web, manifests: ''}}"
	everything    = "rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]"
)

// climbs are requests that every account is refused. Each of them would let the account get the permissions of another.
var climbs = map[string]attempt{
	"make a ClusterRole of everything":       {"POST", rbacPath + "clusterroles", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: mine}, " + everything + "}"},
	"widen the platform's ClusterRole":       {"APPLY", rbacPath + "clusterroles/strata:platform", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'strata:platform'}, " + everything + "}"},
	"widen the operator's ClusterRole":       {"APPLY", rbacPath + "clusterroles/strata:operator", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'strata:operator'}, " + everything + "}"},
	"widen a team's ClusterRole":             {"APPLY", rbacPath + "clusterroles/strata:team", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'strata:team'}, " + everything + "}"},
	"feed a ClusterRole that is aggregated":  {"POST", rbacPath + "clusterroles", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: mine, labels: {rbac.authorization.k8s.io/aggregate-to-admin: 'true'}}, " + everything + "}"},
	"bind cluster-admin":                     {"APPLY", bindingPath("mine"), binding("mine", "cluster-admin")},
	"join the administrators":                {"APPLY", bindingPath("cluster-admin"), binding("cluster-admin", "cluster-admin")},
	"bind a role in Flux's namespace":        {"POST", rbacPath + "namespaces/flux-system/rolebindings", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: mine}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}"},
	"make a Role in its namespace":           {"POST", rbacPath + "namespaces/platform/roles", "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: mine}, " + everything + "}"},
	"be somebody else's token in Flux":       {"POST", "/api/v1/namespaces/flux-system/serviceaccounts/kustomize-controller/token", token},
	"be somebody else's token in the system": {"POST", "/api/v1/namespaces/kube-system/serviceaccounts/default/token", token},
	"keep a token as a Secret of Flux":       {"POST", "/api/v1/namespaces/flux-system/secrets", "{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: mine, annotations: {kubernetes.io/service-account.name: kustomize-controller}}}"},
	"make a pod in Flux's namespace":         {"POST", "/api/v1/namespaces/flux-system/pods", "{apiVersion: v1, kind: Pod, metadata: {name: mine}, spec: {serviceAccountName: kustomize-controller, containers: [{name: x, image: x}]}}"},
	"make a pod in the system's namespace":   {"POST", "/api/v1/namespaces/kube-system/pods", "{apiVersion: v1, kind: Pod, metadata: {name: mine}, spec: {containers: [{name: x, image: x}]}}"},
	"change a controller of Flux":            {"PATCH", "/apis/apps/v1/namespaces/flux-system/deployments/kustomize-controller", nothing},
	"change Flux's root sync":                {"PATCH", "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/flux-system", nothing},
	"change Flux's own source":               {"PATCH", "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/flux-system", nothing},
	"write into Flux's namespace":            {"POST", "/api/v1/namespaces/flux-system/configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}"},
	"open Flux's namespace":                  {"PATCH", "/api/v1/namespaces/flux-system", nothing},
	"run in a pod of Flux":                   {"POST", "/api/v1/namespaces/flux-system/pods/kustomize-controller/exec?command=id", ""},
	"attach to a pod of Flux":                {"POST", "/api/v1/namespaces/flux-system/pods/kustomize-controller/attach", ""},
	"debug a pod of Flux":                    {"PATCH", "/api/v1/namespaces/flux-system/pods/kustomize-controller/ephemeralcontainers", nothing},
	"reach a pod of Flux by the API server":  {"GET", "/api/v1/namespaces/flux-system/pods/kustomize-controller:8080/proxy/metrics", ""},
	"reach a kubelet":                        {"GET", "/api/v1/nodes/any/proxy/pods", ""},
	"see the nodes":                          {"GET", "/api/v1/nodes", ""},
	"change a node":                          {"PATCH", "/api/v1/nodes/any", nothing},
	"make a volume of a node's folder":       {"POST", "/api/v1/persistentvolumes", "{apiVersion: v1, kind: PersistentVolume, metadata: {name: mine}}"},
	"make a namespace":                       {"POST", "/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: mine}}"},
	"see everybody's Secrets one by one":     {"GET", "/api/v1/namespaces/kube-system/secrets", ""},
	"make a webhook that changes":            {"POST", admissionPath + "mutatingwebhookconfigurations", "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: mine}}"},
	"make a webhook that checks":             {"POST", admissionPath + "validatingwebhookconfigurations", "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: mine}}"},
	"make an admission policy":               {"POST", admissionPath + "validatingadmissionpolicies", "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: mine}}"},
	"make a policy that changes":             {"POST", admissionPath + "mutatingadmissionpolicies", "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: mine}}"},
	"change what Stacks are filled with":     {"PATCH", admissionPath + "mutatingadmissionpolicies/strata-stack-defaults", nothing},
	"apply what Stacks are filled with":      {"APPLY", admissionPath + "mutatingadmissionpolicies/strata-stack-defaults", "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: strata-stack-defaults}, spec: {reinvocationPolicy: Never}}"},
	"leave Stacks without values":            {"DELETE", admissionPath + "mutatingadmissionpolicybindings/strata-stack-defaults", ""},
	"serve an API of its own":                {"POST", "/apis/apiregistration.k8s.io/v1/apiservices", "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.mine}}"},
	"sign a certificate":                     {"PATCH", "/apis/certificates.k8s.io/v1/certificatesigningrequests/any/approval", nothing},
	"ask for a certificate":                  {"POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", "{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: mine}}"},
	"be more important than others":          {"POST", "/apis/scheduling.k8s.io/v1/priorityclasses", "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: mine}, value: 1}"},
	"make a kind of another group":           {"APPLY", kindPath + "/things.example.com", kind("things.example.com", "example.com", "things")},
	"make another kind of Pulumi's group":    {"APPLY", kindPath + "/things.pulumi.com", kind("things.pulumi.com", "pulumi.com", "things")},
	"change Flux's kinds":                    {"PATCH", kindPath + "/kustomizations.kustomize.toolkit.fluxcd.io", nothing},
	"change what teams are allowed":          {"PATCH", "/apis/strata.dev/v1/namespaces/team-web/tenantpolicies/strata", "{spec: {types: ['*']}}"},
	"change the kind of what is allowed":     {"PATCH", kindPath + "/tenantpolicies.strata.dev", nothing},
	"mark a namespace as a team's":           {"PATCH", "/api/v1/namespaces/platform", "{metadata: {labels: {strata.dev/team: web}}}"},
	"loosen pod security":                    {"PATCH", "/api/v1/namespaces/team-web", "{metadata: {labels: {pod-security.kubernetes.io/enforce: privileged}}}"},
	"change a team's quota":                  {"DELETE", "/api/v1/namespaces/team-web/resourcequotas/strata", ""},
	"change a team's limits":                 {"DELETE", "/api/v1/namespaces/team-web/limitranges/strata", ""},
	"open a team's network":                  {"DELETE", "/apis/networking.k8s.io/v1/namespaces/team-web/networkpolicies/strata", ""},
	"add to a team's network":                {"POST", "/apis/networking.k8s.io/v1/namespaces/team-web/networkpolicies", "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: mine}, spec: {podSelector: {}}}"},
	"bind a role in a team's namespace":      {"POST", rbacPath + "namespaces/team-web/rolebindings", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: mine}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'strata:team'}}"},
	"change its own binding":                 {"PATCH", rbacPath + "namespaces/team-web/rolebindings/strata-team", nothing},
	"make a sync in a team's namespace":      {"POST", "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/team-web/kustomizations", "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: mine}}"},
	"make a HelmRelease":                     {"POST", "/apis/helm.toolkit.fluxcd.io/v2/namespaces/team-web/helmreleases", "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: mine}}"},
	"change the platform's source":           {"PATCH", "/apis/source.toolkit.fluxcd.io/v1/namespaces/platform/gitrepositories/platform", nothing},
	"take over the election of a controller": {"PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager", nothing},
	"point a Service at somebody else":       {"POST", "/api/v1/namespaces/team-web/endpoints", "{apiVersion: v1, kind: Endpoints, metadata: {name: mine}}"},
	"see the API server's metrics":           {"GET", "/metrics", ""},
	"approve what a Stack waits for":         {"POST", "/apis/strata.dev/v1/namespaces/team-web/approvals", anApproval},
	"apply an approval":                      {"APPLY", "/apis/strata.dev/v1/namespaces/team-web/approvals/mine", anApproval},
	"change an approval":                     {"PATCH", "/apis/strata.dev/v1/namespaces/team-web/approvals/any", nothing},
	"read the token of a team's forge":       {"GET", "/api/v1/namespaces/flux-system/secrets/plans-web", ""},
	"change where results of plans go":       {"PATCH", "/apis/notification.toolkit.fluxcd.io/v1beta3/namespaces/flux-system/providers/plans-web", nothing},
	"change what Flux tells":                 {"PATCH", "/apis/notification.toolkit.fluxcd.io/v1beta3/namespaces/flux-system/alerts/plans-web", nothing},
	"have Flux tell somebody":                {"POST", "/apis/notification.toolkit.fluxcd.io/v1beta3/namespaces/team-web/alerts", "{apiVersion: notification.toolkit.fluxcd.io/v1beta3, kind: Alert, metadata: {name: mine}}"},
	"have Flux send with its own Secrets":    {"POST", "/apis/notification.toolkit.fluxcd.io/v1beta3/namespaces/team-web/providers", "{apiVersion: notification.toolkit.fluxcd.io/v1beta3, kind: Provider, metadata: {name: mine}}"},
	"put a Plan of its own on a commit":      {"POST", "/apis/strata.dev/v1/namespaces/team-web/plans", strings.Replace(aPlan, "spec: {", "spec: {report: true, ", 1)},
	"apply such a Plan":                      {"APPLY", "/apis/strata.dev/v1/namespaces/team-web/plans/reported", strings.NewReplacer("spec: {", "spec: {report: true, ", "name: mine", "name: reported").Replace(aPlan)},
	"become an approver":                     {"POST", rbacPath + "namespaces/team-web/rolebindings", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: mine}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'strata:approver'}}"},
}

// refusals are further requests that one account is refused.
var refusals = map[string]map[string]attempt{
	serviceAccount("platform", "platform"): {
		"bind cluster-admin under the name that it may keep": {"APPLY", bindingPath(platform.OperatorBinding), binding(platform.OperatorBinding, "cluster-admin")},
		"bind its role under another name":                   {"APPLY", bindingPath("mine"), binding("mine", platform.RoleOperator)},
		"read the log of a team's Stack":                     {"GET", "/apis/strata.dev/v1/namespaces/team-web/stacklogs/any", ""},
		"read a team's context":                              {"GET", "/api/v1/namespaces/team-web/secrets/strata-context", ""},
		"read its own source's Secret":                       {"GET", "/api/v1/namespaces/platform/secrets/platform", ""},
		"read a Secret beside the operator":                  {"GET", "/api/v1/namespaces/pulumi-kubernetes-operator/secrets", ""},
		"keep the operator's token as a Secret":              {"POST", "/api/v1/namespaces/pulumi-kubernetes-operator/secrets", "{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: mine, annotations: {kubernetes.io/service-account.name: pulumi-operator}}}"},
		"get the operator's token":                           {"POST", "/api/v1/namespaces/pulumi-kubernetes-operator/serviceaccounts/pulumi-operator/token", token},
		"get its own token":                                  {"POST", "/api/v1/namespaces/platform/serviceaccounts/platform/token", token},
		"get a team's token":                                 {"POST", "/api/v1/namespaces/team-web/serviceaccounts/web/token", token},
		"run in the operator's pod":                          {"POST", "/api/v1/namespaces/pulumi-kubernetes-operator/pods/any/exec?command=id", ""},
		"make a bare pod beside the operator":                {"POST", "/api/v1/namespaces/pulumi-kubernetes-operator/pods", "{apiVersion: v1, kind: Pod, metadata: {name: mine}, spec: {containers: [{name: x, image: x}]}}"},
		"make a Deployment in its own namespace":             {"POST", "/apis/apps/v1/namespaces/platform/deployments", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: mine}}"},
		"make an account in its own namespace":               {"POST", "/api/v1/namespaces/platform/serviceaccounts", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: mine}}"},
		"make a source":                                      {"POST", "/apis/source.toolkit.fluxcd.io/v1/namespaces/platform/gitrepositories", "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: mine}}"},
		"write into a team's namespace":                      {"POST", "/api/v1/namespaces/team-web/configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}"},
		"make a Stack of a team":                             {"POST", "/apis/pulumi.com/v1/namespaces/team-web/stacks", "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: mine}}"},
		"open the operator's network":                        {"DELETE", "/apis/networking.k8s.io/v1/namespaces/pulumi-kubernetes-operator/networkpolicies/strata", ""},
		"change its Role beside the operator":                {"PATCH", rbacPath + "namespaces/pulumi-kubernetes-operator/roles/strata:platform", nothing},
		"delete the binding of the administrators":           {"DELETE", bindingPath("cluster-admin"), ""},
		"delete its own binding":                             {"DELETE", bindingPath("strata:platform"), ""},
		"read everybody's Secrets":                           {"GET", "/api/v1/secrets", ""},
		"loosen what guards the hops":                        {"PATCH", admissionPath + "validatingadmissionpolicies/strata-hops", nothing},
		"unbind what guards the hops":                        {"DELETE", admissionPath + "validatingadmissionpolicybindings/strata-hops", ""},
		"bind a policy of its own":                           {"APPLY", admissionPath + "validatingadmissionpolicybindings/mine", "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: mine}, spec: {policyName: strata-programs, validationActions: [Deny]}}"},
		"list what teams are allowed":                        {"GET", "/apis/strata.dev/v1/tenantpolicies", ""},
	},
	serviceAccount("pulumi-kubernetes-operator", "pulumi-operator"): {
		"read Flux's Secrets":                    {"GET", "/api/v1/namespaces/flux-system/secrets", ""},
		"read the platform's Secrets":            {"GET", "/api/v1/namespaces/platform/secrets", ""},
		"read everybody's Secrets":               {"GET", "/api/v1/secrets", ""},
		"write a team's Secret":                  {"PATCH", "/api/v1/namespaces/team-web/secrets/strata-context", nothing},
		"get a token beside itself":              {"POST", "/api/v1/namespaces/pulumi-kubernetes-operator/serviceaccounts/default/token", token},
		"get the platform's token":               {"POST", "/api/v1/namespaces/platform/serviceaccounts/platform/token", token},
		"make a pod of a team":                   {"POST", "/api/v1/namespaces/team-web/pods", "{apiVersion: v1, kind: Pod, metadata: {name: mine}, spec: {containers: [{name: x, image: x}]}}"},
		"make a Deployment of a team":            {"POST", "/apis/apps/v1/namespaces/team-web/deployments", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: mine}}"},
		"change its own Deployment":              {"PATCH", "/apis/apps/v1/namespaces/pulumi-kubernetes-operator/deployments/pulumi-operator", nothing},
		"make a Stack":                           {"POST", "/apis/pulumi.com/v1/namespaces/team-web/stacks", "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: mine}}"},
		"delete a Stack":                         {"DELETE", "/apis/pulumi.com/v1/namespaces/team-web/stacks/any", ""},
		"change its own binding over all":        {"PATCH", bindingPath(platform.OperatorBinding), nothing},
		"make a sync in the platform's":          {"POST", "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/platform/kustomizations", "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: mine}}"},
		"change an account of a team":            {"PATCH", "/api/v1/namespaces/team-web/serviceaccounts/web", nothing},
		"read a log that it has written":         {"GET", "/apis/strata.dev/v1/namespaces/team-web/stacklogs/any", ""},
		"create a Plan where no team is":         {"POST", "/apis/strata.dev/v1/namespaces/platform/plans", aPlan},
		"delete an Approval":                     {"DELETE", "/apis/strata.dev/v1/namespaces/team-web/approvals/any", ""},
		"read the Approvals of all namespaces":   {"GET", "/apis/strata.dev/v1/approvals", ""},
		"change what a Plan plans":               {"PATCH", "/apis/strata.dev/v1/namespaces/team-web/plans/any", nothing},
		"write a result where no team is":        {"PATCH", "/apis/strata.dev/v1/namespaces/platform/plans/any/status", nothing},
		"delete a log that it has written":       {"DELETE", "/apis/strata.dev/v1/namespaces/team-web/stacklogs/any", ""},
		"write a log where no team is":           {"POST", "/apis/strata.dev/v1/namespaces/platform/stacklogs", "{apiVersion: strata.dev/v1, kind: StackLog, metadata: {name: mine}}"},
		"change its own kinds":                   {"PATCH", kindPath + "/stacks.pulumi.com", nothing},
		"see a source of the platform":           {"GET", "/apis/source.toolkit.fluxcd.io/v1/namespaces/platform/gitrepositories", ""},
		"read a ConfigMap of the cluster itself": {"GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", ""},
	},
	serviceAccount("team-web", "web"): {
		"read another team's context":      {"GET", "/api/v1/namespaces/team-api/secrets/strata-context", ""},
		"list another team's Secrets":      {"GET", "/api/v1/namespaces/team-api/secrets", ""},
		"read everybody's Secrets":         {"GET", "/api/v1/secrets", ""},
		"read the platform's Secrets":      {"GET", "/api/v1/namespaces/platform/secrets", ""},
		"read Flux's Secrets":              {"GET", "/api/v1/namespaces/flux-system/secrets", ""},
		"read the operator's Secrets":      {"GET", "/api/v1/namespaces/pulumi-kubernetes-operator/secrets", ""},
		"make a Stack of another team":     {"POST", "/apis/pulumi.com/v1/namespaces/team-api/stacks", "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: mine}}"},
		"see another team's Stacks":        {"GET", "/apis/pulumi.com/v1/namespaces/team-api/stacks", ""},
		"see everybody's Stacks":           {"GET", "/apis/pulumi.com/v1/stacks", ""},
		"see another team's pods":          {"GET", "/api/v1/namespaces/team-api/pods", ""},
		"see another team's sync":          {"GET", "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/team-api/kustomizations", ""},
		"see another team's quota":         {"GET", "/api/v1/namespaces/team-api/resourcequotas", ""},
		"change its quota":                 {"PATCH", "/api/v1/namespaces/team-web/resourcequotas/strata", nothing},
		"see another team's policy":        {"GET", "/apis/strata.dev/v1/namespaces/team-api/tenantpolicies/strata", ""},
		"write into another team's":        {"POST", "/api/v1/namespaces/team-api/configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}"},
		"write the log of a Stack":         {"POST", "/apis/strata.dev/v1/namespaces/team-web/stacklogs", "{apiVersion: strata.dev/v1, kind: StackLog, metadata: {name: mine}}"},
		"change the log of a Stack":        {"PATCH", "/apis/strata.dev/v1/namespaces/team-web/stacklogs/any", nothing},
		"apply the log of a Stack":         {"APPLY", "/apis/strata.dev/v1/namespaces/team-web/stacklogs/any", "{apiVersion: strata.dev/v1, kind: StackLog, metadata: {name: any}}"},
		"delete the log of a Stack":        {"DELETE", "/apis/strata.dev/v1/namespaces/team-web/stacklogs/any", ""},
		"delete all logs of its Stacks":    {"DELETE", "/apis/strata.dev/v1/namespaces/team-web/stacklogs", ""},
		"write the result of a Plan":       {"PATCH", "/apis/strata.dev/v1/namespaces/team-web/plans/any/status", nothing},
		"apply the result of a Plan":       {"APPLY", "/apis/strata.dev/v1/namespaces/team-web/plans/any/status", aPlan},
		"change a Plan":                    {"PATCH", "/apis/strata.dev/v1/namespaces/team-web/plans/any", nothing},
		"plan in another team's namespace": {"POST", "/apis/strata.dev/v1/namespaces/team-api/plans", aPlan},
		"read another team's Plan":         {"GET", "/apis/strata.dev/v1/namespaces/team-api/plans/any", ""},
		"read everybody's Plans":           {"GET", "/apis/strata.dev/v1/plans", ""},
		"change the kind of the Plans":     {"PATCH", kindPath + "/plans.strata.dev", nothing},
		"be the account of its Plans":      {"POST", "/api/v1/namespaces/team-web/serviceaccounts/strata-plan/token", token},
		"change the account of its Plans":  {"PATCH", "/api/v1/namespaces/team-web/serviceaccounts/strata-plan", nothing},
		"keep a token of that account":     {"POST", "/api/v1/namespaces/team-web/secrets", "{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: mine, annotations: {kubernetes.io/service-account.name: strata-plan}}}"},
		"delete an Approval":               {"DELETE", "/apis/strata.dev/v1/namespaces/team-web/approvals/any", ""},
		"read another team's Approvals":    {"GET", "/apis/strata.dev/v1/namespaces/team-api/approvals", ""},
		"change the kind of the Approvals": {"PATCH", kindPath + "/approvals.strata.dev", nothing},
		"read the log of another's Stack":  {"GET", "/apis/strata.dev/v1/namespaces/team-api/stacklogs/any", ""},
		"read the logs of all Stacks":      {"GET", "/apis/strata.dev/v1/stacklogs", ""},
		"change the kind of the logs":      {"PATCH", kindPath + "/stacklogs.strata.dev", nothing},
		"claim that a Stack is ready":      {"PATCH", "/apis/pulumi.com/v1/namespaces/team-web/stacks/any/status", nothing},
		"get its own token":                {"POST", "/api/v1/namespaces/team-web/serviceaccounts/web/token", token},
		"change its own account":           {"PATCH", "/api/v1/namespaces/team-web/serviceaccounts/web", nothing},
		"make an account":                  {"POST", "/api/v1/namespaces/team-web/serviceaccounts", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: mine}}"},
		"change its source":                {"PATCH", "/apis/source.toolkit.fluxcd.io/v1/namespaces/team-web/gitrepositories/web", nothing},
		"make a source":                    {"POST", "/apis/source.toolkit.fluxcd.io/v1/namespaces/team-web/gitrepositories", "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: mine}}"},
		"change its sync":                  {"PATCH", "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/team-web/kustomizations/web", nothing},
		"change its receiver":              {"PATCH", "/apis/notification.toolkit.fluxcd.io/v1/namespaces/team-web/receivers/web", nothing},
		"have a policy of its own":         {"POST", "/apis/strata.dev/v1/namespaces/team-web/tenantpolicies", "{apiVersion: strata.dev/v1, kind: TenantPolicy, metadata: {name: mine}}"},
		"run in a pod":                     {"POST", "/api/v1/namespaces/team-web/pods/any/exec?command=id", ""},
		"forward a port":                   {"POST", "/api/v1/namespaces/team-web/pods/any/portforward", ""},
		"make a bare pod":                  {"POST", "/api/v1/namespaces/team-web/pods", "{apiVersion: v1, kind: Pod, metadata: {name: mine}, spec: {containers: [{name: x, image: x}]}}"},
		"run on every node":                {"POST", "/apis/apps/v1/namespaces/team-web/daemonsets", "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: mine}}"},
		"delete its namespace":             {"DELETE", "/api/v1/namespaces/team-web", ""},
		"change the operator's Deployment": {"PATCH", "/apis/apps/v1/namespaces/pulumi-kubernetes-operator/deployments/pulumi-operator", nothing},
		"make the operator's binding":      {"APPLY", bindingPath(platform.OperatorBinding), binding(platform.OperatorBinding, platform.RoleOperator)},
		"change Pulumi's kinds":            {"PATCH", kindPath + "/stacks.pulumi.com", nothing},
	},
	serviceAccount("team-web", hop.PlanAccount): {
		"read a Secret":                {"GET", "/api/v1/namespaces/team-web/secrets/strata-context", ""},
		"list Secrets":                 {"GET", "/api/v1/namespaces/team-web/secrets", ""},
		"read a Stack":                 {"GET", "/apis/pulumi.com/v1/namespaces/team-web/stacks/any", ""},
		"read a Program":               {"GET", "/apis/pulumi.com/v1/namespaces/team-web/programs/any", ""},
		"read a Plan":                  {"GET", "/apis/strata.dev/v1/namespaces/team-web/plans/any", ""},
		"read the log of a Stack":      {"GET", "/apis/strata.dev/v1/namespaces/team-web/stacklogs/any", ""},
		"read a pod":                   {"GET", "/api/v1/namespaces/team-web/pods/any", ""},
		"read the log of a pod":        {"GET", "/api/v1/namespaces/team-web/pods/any/log", ""},
		"read another team's":          {"GET", "/api/v1/namespaces/team-api/configmaps", ""},
		"write a ConfigMap":            {"POST", "/api/v1/namespaces/team-web/configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}"},
		"try to write a ConfigMap":     {"POST", "/api/v1/namespaces/team-web/configmaps?dryRun=All", "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}"},
		"delete a ConfigMap":           {"DELETE", "/api/v1/namespaces/team-web/configmaps/any", ""},
		"change a Deployment":          {"PATCH", "/apis/apps/v1/namespaces/team-web/deployments/any", nothing},
		"make a Stack":                 {"POST", "/apis/pulumi.com/v1/namespaces/team-web/stacks", "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: mine}}"},
		"make a Plan":                  {"POST", "/apis/strata.dev/v1/namespaces/team-web/plans", aPlan},
		"get a token of the team":      {"POST", "/api/v1/namespaces/team-web/serviceaccounts/web/token", token},
		"get another token of its own": {"POST", "/api/v1/namespaces/team-web/serviceaccounts/strata-plan/token", token},
	},
	serviceAccount("team-api", "api"): {
		"make a Stack":              {"POST", "/apis/pulumi.com/v1/namespaces/team-api/stacks", "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: mine}}"},
		"change a Program":          {"PATCH", "/apis/pulumi.com/v1/namespaces/team-api/programs/any", nothing},
		"make a source":             {"POST", "/apis/source.toolkit.fluxcd.io/v1/namespaces/team-api/gitrepositories", "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: mine}}"},
		"read another team's Stack": {"GET", "/apis/pulumi.com/v1/namespaces/team-web/stacks/any", ""},
	},
	serviceAccount("team-api", "infra"): {
		"make a Deployment":            {"POST", "/apis/apps/v1/namespaces/team-api/deployments", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: mine}}"},
		"make a Job":                   {"POST", "/apis/batch/v1/namespaces/team-api/jobs", "{apiVersion: batch/v1, kind: Job, metadata: {name: mine}}"},
		"make a Service":               {"POST", "/api/v1/namespaces/team-api/services", "{apiVersion: v1, kind: Service, metadata: {name: mine}}"},
		"see the pods":                 {"GET", "/api/v1/namespaces/team-api/pods", ""},
		"change another team's Stack":  {"PATCH", "/apis/pulumi.com/v1/namespaces/team-web/stacks/any", nothing},
		"change another team's source": {"PATCH", "/apis/source.toolkit.fluxcd.io/v1/namespaces/team-web/gitrepositories/web", nothing},
	},
}

// accounts are the accounts above layer 2.
var accounts = [][2]string{
	{platform.PlatformNamespace, platform.PlatformAccount}, {platform.OperatorNamespace, platform.OperatorAccount}, {"team-web", "web"},
	{"team-api", "api"}, {"team-api", "infra"}, {"team-web", hop.PlanAccount},
	// The accounts of a sync and of a pod that name none.
	{platform.PlatformNamespace, "default"}, {platform.OperatorNamespace, "default"}, {"team-web", "default"},
}

func TestEachAccountHasOnlyTheRightsThatItNeeds(t *testing.T) {
	long.Test(t)
	c := newCluster(t, "local")
	act := c.as(t, platform.PlatformNamespace, platform.PlatformAccount)
	for _, folder := range []string{"../sync/policies", "../operator/config/crd", "../operator/config/manager"} {
		for _, object := range built(t, folder) {
			if err := act.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kustomize-controller"), client.ForceOwnership); err != nil {
				t.Errorf("the platform account cannot apply %s %s: %v", object.GetKind(), object.GetName(), err)
			}
		}
	}
	for who, attempts := range positives {
		act := c.as(t, who[0], who[1])
		for _, a := range attempts {
			t.Run(fmt.Sprintf("%s %s %s", who[1], a.method, a.path), func(t *testing.T) {
				eventually(t, "the request is served", func() error {
					err := act.try(t.Context(), a)
					if strings.Contains(a.path, "fluxcd.io") && apierrors.IsNotFound(err) {
						return nil // The request was allowed, but Flux does not run.
					}
					return err
				})
			})
		}
	}
	// The rest is refused on the same cluster, with the operator's kinds and its binding.
	for _, who := range accounts {
		act := c.as(t, who[0], who[1])
		for name, a := range climbs {
			refused(t, act, name, a)
		}
		for name, a := range refusals[act.name] {
			refused(t, act, name, a)
		}
		t.Run(act.name+" may not be somebody else", func(t *testing.T) { testImpersonation(t, act) })
	}
	t.Run("by the closure of what each can become", func(t *testing.T) { testClosure(t, c, false) })
	t.Run("by the guard of what a hop made", func(t *testing.T) { testHopGuard(t, c) })
	t.Run("by pod security", func(t *testing.T) { testPodSecurity(t, c) })
	t.Run("by the quota", func(t *testing.T) { testQuota(t, c) })
	t.Run("by a policy that looks up what the team is allowed", func(t *testing.T) { testPolicyParameters(t, c) })
}

func refused(t *testing.T, act *subject, name string, a attempt) {
	t.Run(act.name+" may not "+name, func(t *testing.T) {
		if err := act.try(t.Context(), a); !apierrors.IsForbidden(err) {
			t.Errorf("%s %s: %v, want forbidden", a.method, a.path, err)
		}
	})
}

func testImpersonation(t *testing.T, act *subject) {
	for _, headers := range []map[string]string{
		{"Impersonate-User": "kubernetes-admin"},
		{"Impersonate-User": serviceAccount("flux-system", "kustomize-controller")},
		{"Impersonate-User": act.name, "Impersonate-Group": "system:masters"},
	} {
		request := act.raw.Get().AbsPath("/api/v1/namespaces")
		for name, value := range headers {
			request = request.SetHeader(name, value)
		}
		if err := request.Do(t.Context()).Error(); !apierrors.IsForbidden(err) {
			t.Errorf("%v: %v, want forbidden", headers, err)
		}
	}
}

// fromContext are the variables that a Stack must take from its team's context.
const fromContext = "envRefs: {PULUMI_BACKEND_URL: {type: Secret, secret: {name: strata-context, key: PULUMI_BACKEND_URL}}, " +
	"PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: strata-context, key: PULUMI_CONFIG_PASSPHRASE}}}"

// positives are the requests of each account's daily work, in this order.
var positives = map[[2]string][]attempt{
	{"platform", "platform"}: {
		{"APPLY", "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/platform/kustomizations/operator", "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: operator}}"},
		{"GET", "/apis/apps/v1/namespaces/pulumi-kubernetes-operator/replicasets", ""},
		{"GET", "/api/v1/namespaces/pulumi-kubernetes-operator/pods", ""},
	},
	{"team-web", "web"}: {
		{"APPLY", "/apis/apps/v1/namespaces/team-web/deployments/app", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: app},
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: x, image: x}]}}}}`},
		{"APPLY", "/api/v1/namespaces/team-web/services/app", "{apiVersion: v1, kind: Service, metadata: {name: app}, spec: {ports: [{port: 80}]}}"},
		{"APPLY", "/api/v1/namespaces/team-web/configmaps/app", "{apiVersion: v1, kind: ConfigMap, metadata: {name: app}}"},
		{"APPLY", "/api/v1/namespaces/team-web/secrets/app", "{apiVersion: v1, kind: Secret, metadata: {name: app}}"},
		{"APPLY", "/apis/pulumi.com/v1/namespaces/team-web/programs/app", "{apiVersion: pulumi.com/v1, kind: Program, metadata: {name: app}}"},
		{"APPLY", "/apis/pulumi.com/v1/namespaces/team-web/stacks/app", "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: app}, spec: {stack: dev, serviceAccountName: web, " + fromContext + "}}"},
		{"GET", "/api/v1/namespaces/team-web/secrets/strata-context", ""},
		{"GET", "/apis/strata.dev/v1/namespaces/team-web/tenantpolicies/strata", ""},
		{"GET", "/api/v1/namespaces/team-web/pods", ""},
		{"GET", "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/team-web/kustomizations", ""},
		{"GET", "/apis/source.toolkit.fluxcd.io/v1/namespaces/team-web/gitrepositories", ""},
		{"GET", "/api/v1/namespaces/team-web/resourcequotas/strata", ""},
		{"POST", "/apis/strata.dev/v1/namespaces/team-web/plans", aPlan},
		{"GET", "/apis/strata.dev/v1/namespaces/team-web/plans/mine", ""},
		{"GET", "/apis/strata.dev/v1/namespaces/team-web/approvals", ""},
		{"GET", "/api/v1/namespaces/team-web/limitranges", ""},
	},
	{"team-api", "api"}: {
		{"APPLY", "/api/v1/namespaces/team-api/configmaps/app", "{apiVersion: v1, kind: ConfigMap, metadata: {name: app}}"},
		{"GET", "/apis/apps/v1/namespaces/team-api/deployments", ""},
		{"GET", "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/team-api/kustomizations", ""},
	},
	{"team-api", "infra"}: {
		{"APPLY", "/apis/pulumi.com/v1/namespaces/team-api/stacks/app", "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: app}, spec: {stack: dev, serviceAccountName: infra, " + fromContext + "}}"},
		{"APPLY", "/api/v1/namespaces/team-api/secrets/sql-auth", "{apiVersion: v1, kind: Secret, metadata: {name: sql-auth}}"},
		{"APPLY", "/apis/source.toolkit.fluxcd.io/v1/namespaces/team-api/gitrepositories/shared", "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: shared}, spec: {url: 'https://git.example.com/teams/api.git'}}"},
	},
	{"team-web", hop.PlanAccount}: {
		{"GET", "/api/v1/namespaces/team-web/configmaps", ""},
		{"GET", "/apis/apps/v1/namespaces/team-web/deployments", ""},
	},
	{"pulumi-kubernetes-operator", "pulumi-operator"}: {
		{"GET", "/apis/pulumi.com/v1/stacks", ""},
		{"GET", "/apis/strata.dev/v1/plans", ""},
		{"GET", "/apis/strata.dev/v1/namespaces/team-web/approvals", ""},
		{"POST", "/apis/strata.dev/v1/namespaces/team-web/plans", strings.Replace(aPlan, "name: mine", "name: stack.app", 1)},
		{"GET", "/api/v1/namespaces/team-web/secrets/strata-context", ""},
		{"GET", "/api/v1/namespaces/team-web/configmaps", ""},
		{"GET", "/apis/source.toolkit.fluxcd.io/v1/namespaces/team-web/gitrepositories", ""},
		{"GET", "/apis/strata.dev/v1/namespaces/team-web/tenantpolicies/strata", ""},
		{"POST", "/api/v1/namespaces/team-web/serviceaccounts/web/token", token},
	},
}

package graph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/platform/hopguard"
)

const (
	rbacGroup      = "rbac.authorization.k8s.io"
	admissionGroup = "admissionregistration.k8s.io"

	syncGuard  = "strata-syncs"
	stackGuard = "strata-stacks"

	administrator = "administrator"
)

// powers are actions on the whole cluster that lead to every other action.
var powers = slices.Concat([]action{
	{verb: "*", group: "*", resource: "*"},
	{verb: "escalate", group: rbacGroup, resource: "clusterroles"},
	{verb: "impersonate", resource: "users"}, {verb: "impersonate", resource: "groups"}, {verb: "impersonate", resource: "serviceaccounts"},
	{verb: "create", resource: "nodes/proxy"}, {verb: "get", resource: "nodes/proxy"},
	{verb: "update", group: "certificates.k8s.io", resource: "certificatesigningrequests/approval"},
	{verb: "patch", group: "certificates.k8s.io", resource: "certificatesigningrequests/approval"},
}, writing(admissionGroup, "mutatingwebhookconfigurations", "mutatingadmissionpolicies"), writing("apiregistration.k8s.io", "apiservices"))

// workloads are actions in a namespace that run a pod under any of its accounts.
var workloads = slices.Concat([]action{
	{verb: "create", resource: "pods"}, {verb: "create", resource: "pods/exec"}, {verb: "create", resource: "pods/attach"},
	{verb: "patch", resource: "pods/ephemeralcontainers"}, {verb: "update", resource: "pods/ephemeralcontainers"},
}, writing("", "replicationcontrollers"), writing("apps", "deployments", "statefulsets", "daemonsets", "replicasets"), writing("batch", "jobs", "cronjobs"))

// guarded are actions in a namespace that lead to its accounts unless an admission policy looks into the objects of a team. A Secret that
// exists keeps its type, so only a new one gets the token of an account.
var guarded = []struct {
	guard   string
	actions []action
}{
	{hopguard.Name, []action{{verb: "create", resource: "secrets"}}},
	{syncGuard, writing("kustomize.toolkit.fluxcd.io", "kustomizations")},
	{syncGuard, writing("helm.toolkit.fluxcd.io", "helmreleases")},
	{stackGuard, writing("pulumi.com", "stacks")},
}

// writing returns the actions that give objects a content of one's choice.
func writing(group string, resources ...string) []action {
	var all []action
	for _, verb := range []string{"create", "update", "patch"} {
		for _, resource := range resources {
			all = append(all, action{verb: verb, group: group, resource: resource})
		}
	}
	return all
}

// ofUser returns the edges of a user of Kubernetes.
func (g *Graph) ofUser(user string) []edge {
	if user == administrator {
		grants := []grant{{by: "the administrator's certificate"}}
		grants[0].rule.Verbs, grants[0].rule.APIGroups, grants[0].rule.Resources = []string{"*"}, []string{"*"}, []string{"*"}
		return g.ofGrants(grants)
	}
	return g.ofGrants(g.rights.of(user))
}

func (g *Graph) ofGrants(grants []grant) []edge {
	var edges []edge
	for _, power := range powers {
		if by, ok := which(grants, power); ok {
			edges = append(edges, edge{jewelPrefix + ClusterAdmin, "may " + power.String() + " (" + by + ")"})
			break
		}
	}
	edges = append(edges, g.bound(grants)...)
	for _, namespace := range g.facts.namespaces() {
		edges = append(edges, g.inside(grants, namespace)...)
	}
	return edges
}

// bound returns the edges of a user who may bind roles: to the holders of these roles.
func (g *Graph) bound(grants []grant) []edge {
	var edges []edge
	for _, binding := range g.facts.ClusterRoleBindings {
		edges = append(edges, boundBy(grants, "clusterrolebindings", binding.ObjectMeta, binding.RoleRef, binding.Subjects)...)
	}
	for _, binding := range g.facts.RoleBindings {
		edges = append(edges, boundBy(grants, "rolebindings", binding.ObjectMeta, binding.RoleRef, binding.Subjects)...)
	}
	return edges
}

// boundBy returns the edges of a user who may make a binding such as the given one.
func boundBy(grants []grant, kind string, binding metav1.ObjectMeta, role rbacv1.RoleRef, subjects []rbacv1.Subject) []edge {
	by, ok := which(grants, action{verb: "bind", group: rbacGroup, resource: strings.ToLower(role.Kind) + "s", namespace: binding.Namespace, name: role.Name})
	may := func(a action) bool {
		a.namespace, a.name = binding.Namespace, binding.Name
		_, ok := which(grants, a)
		return ok
	}
	if !ok || !slices.ContainsFunc(writing(rbacGroup, kind), may) {
		return nil
	}
	by = "may bind " + role.Kind + " " + role.Name + in(binding.Namespace) + " (" + by + ")"
	var edges []edge
	if role.Name == ClusterAdmin && binding.Namespace == "" {
		edges = append(edges, edge{jewelPrefix + ClusterAdmin, by})
	}
	for _, subject := range subjects {
		if subject.Kind == rbacv1.ServiceAccountKind {
			edges = append(edges, edge{audit.ServiceAccount(cmp.Or(subject.Namespace, binding.Namespace), subject.Name), by})
		}
	}
	return edges
}

// in names the namespace of an action; it is empty for an action on the whole cluster.
func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

// inside returns the edges to the accounts of a namespace, and to its Secrets.
func (g *Graph) inside(grants []grant, namespace string) []edge {
	var edges []edge
	team := g.facts.Teams[namespace]
	all := func(a action, note string) bool {
		a.namespace = namespace
		by, ok := which(grants, a)
		if ok {
			for _, account := range g.facts.accountsIn(namespace) {
				edges = append(edges, edge{account, "may " + a.String() + note + " (" + by + ")"})
			}
		}
		return ok
	}
	for _, a := range workloads {
		if all(a, "") {
			break
		}
	}
	for _, each := range guarded {
		if team != "" && g.facts.Guards[each.guard] {
			continue
		}
		note := ""
		if team != "" {
			note = ", and the admission policy " + each.guard + " denies nothing"
		}
		for _, a := range each.actions {
			if all(a, note) {
				break
			}
		}
	}
	for _, account := range g.facts.Accounts {
		if account.Namespace != namespace {
			continue
		}
		if by, ok := which(grants, action{verb: "create", resource: "serviceaccounts/token", namespace: namespace, name: account.Name}); ok {
			edges = append(edges, edge{audit.ServiceAccount(namespace, account.Name), "may request tokens in namespace " + namespace + " (" + by + ")"})
		}
	}
	return append(edges, g.secrets(grants, namespace, team)...)
}

// secrets returns the edges to the Secrets of a namespace, and to the accounts whose credentials they contain.
func (g *Graph) secrets(grants []grant, namespace, team string) []edge {
	var edges []edge
	read := false
	for i := range g.facts.Secrets {
		secret := &g.facts.Secrets[i]
		if secret.Namespace != namespace {
			continue
		}
		by, ok := "", false
		for _, verb := range []string{"get", "list", "watch"} {
			if by, ok = which(grants, action{verb: verb, resource: "secrets", namespace: namespace, name: secret.Name}); ok {
				break
			}
		}
		if !ok {
			continue
		}
		if team != "" && !read {
			read = true
			edges = append(edges, edge{jewelPrefix + secretsOf + team, "may read Secrets in namespace " + namespace + " (" + by + ")"})
		}
		for _, node := range g.held(secret) {
			edges = append(edges, edge{node, "reads Secret " + namespace + "/" + secret.Name + ", which holds its credential (" + by + ")"})
		}
	}
	return edges
}

// held returns the accounts whose credentials a Secret contains.
func (g *Graph) held(secret *corev1.Secret) []string {
	var nodes []string
	if secret.Type == corev1.SecretTypeServiceAccountToken {
		nodes = append(nodes, audit.ServiceAccount(secret.Namespace, secret.Annotations[corev1.ServiceAccountNameKey]))
	}
	if login := string(secret.Data["username"]); g.git != nil && login != "" && g.git.Password(login) == string(secret.Data["password"]) {
		nodes = append(nodes, gitPrefix+login)
	}
	for _, value := range secret.Data {
		var key struct {
			Type  string `json:"type"`
			Email string `json:"client_email"`
		}
		if bytes.Contains(value, []byte("client_email")) && json.Unmarshal(value, &key) == nil && key.Type == "service_account" {
			nodes = append(nodes, googlePrefix+key.Email)
		}
	}
	return nodes
}

// String describes an action.
func (a action) String() string {
	text := a.verb + " " + a.resource
	if a.verb == "*" {
		text = "do everything"
	}
	return text + in(a.namespace)
}

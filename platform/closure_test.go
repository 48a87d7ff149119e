package platform_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/strata-platform/strata/platform"
)

// known maps the cluster's namespaces to an account that would be worth having.
var known = map[string]string{
	"kube-system": "default", "default": "default", "flux-system": "kustomize-controller", platform.PlatformNamespace: platform.PlatformAccount,
	platform.OperatorNamespace: platform.OperatorAccount, "team-web": "web", "team-api": "api",
}

// means are permissions that let their holder act as any account of a namespace.
var means = []authorizationv1.ResourceAttributes{
	// They create a pod that runs under the account.
	{Verb: "create", Resource: "pods"}, {Verb: "create", Resource: "replicationcontrollers"},
	{Verb: "create", Group: "apps", Resource: "deployments"}, {Verb: "patch", Group: "apps", Resource: "deployments"},
	{Verb: "create", Group: "apps", Resource: "statefulsets"}, {Verb: "create", Group: "apps", Resource: "daemonsets"},
	{Verb: "create", Group: "apps", Resource: "replicasets"}, {Verb: "create", Group: "batch", Resource: "jobs"},
	{Verb: "create", Group: "batch", Resource: "cronjobs"}, {Verb: "create", Resource: "pods", Subresource: "exec"},
	// They create a token.
	{Verb: "create", Resource: "serviceaccounts", Subresource: "token"}, {Verb: "create", Resource: "secrets"},
	// They create an object that names an account, and Flux or the operator acts under that account.
	{Verb: "create", Group: "kustomize.toolkit.fluxcd.io", Resource: "kustomizations"},
	{Verb: "create", Group: "helm.toolkit.fluxcd.io", Resource: "helmreleases"},
	{Verb: "create", Group: "pulumi.com", Resource: "stacks"}, {Verb: "patch", Group: "pulumi.com", Resource: "stacks"},
}

// testClosure follows every path from one account to another. It checks that no path leads to a cluster administrator: to
// an account of Flux or of the system, or to a permission that grants other permissions.
func testClosure(t *testing.T, c *cluster, upstream bool) {
	checkClosure(t, c, upstream, known, map[string][]string{
		// With the operator's Deployment the platform account can act as the operator, and with the operator's tokens as
		// each team.
		"platform":                 {"platform", platform.OperatorNamespace, "team-api", "team-web"},
		platform.OperatorNamespace: {platform.OperatorNamespace, "team-api", "team-web"},
		"team-web":                 {"team-web"},
		"team-api":                 {"team-api"},
	})
}

// checkClosure checks which of the known accounts each account reaches. The map wants has both by namespace.
func checkClosure(t *testing.T, c *cluster, upstream bool, known map[string]string, wants map[string][]string) {
	t.Helper()
	for from, want := range wants {
		reached := map[string]bool{from: true}
		for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
			who := serviceAccount(queue[0], known[queue[0]])
			for namespace := range known {
				if !reached[namespace] && slices.ContainsFunc(means, func(m authorizationv1.ResourceAttributes) bool {
					m.Namespace = namespace
					return c.may(t, who, m)
				}) {
					reached[namespace] = true
					queue = append(queue, namespace)
				}
			}
			checkNoCrown(t, c, who, upstream)
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(reached)); !slices.Equal(got, want) {
			t.Errorf("from namespace %s the accounts of %q can be reached, want %q", from, got, want)
		}
	}
}

// checkNoCrown fails the test if an account has a permission that leads to every other permission.
func checkNoCrown(t *testing.T, c *cluster, who string, upstream bool) {
	t.Helper()
	for _, right := range []string{
		"* *", "impersonate users", "impersonate groups", "impersonate serviceaccounts",
		"escalate clusterroles.rbac.authorization.k8s.io", "bind clusterroles.rbac.authorization.k8s.io",
		"create clusterroles.rbac.authorization.k8s.io", "create roles.rbac.authorization.k8s.io", "create rolebindings.rbac.authorization.k8s.io",
		"create clusterrolebindings.rbac.authorization.k8s.io", "create customresourcedefinitions.apiextensions.k8s.io",
		"create mutatingwebhookconfigurations.admissionregistration.k8s.io", "create validatingwebhookconfigurations.admissionregistration.k8s.io",
		"create validatingadmissionpolicies.admissionregistration.k8s.io", "create mutatingadmissionpolicies.admissionregistration.k8s.io",
		"create apiservices.apiregistration.k8s.io", "get nodes/proxy", "create nodes/proxy", "create persistentvolumes",
		"create certificatesigningrequests.certificates.k8s.io", "create namespaces", "patch namespaces", "patch tenantpolicies.strata.dev",
		"patch stacks.pulumi.com", "create stacks.pulumi.com", "list secrets", "create secrets", "create serviceaccounts/token", "create pods", "create pods/exec", "patch serviceaccounts",
	} {
		if upstream && right == "list secrets" {
			continue // Upstream's operator lists them all.
		}
		verb, resource, _ := strings.Cut(right, " ")
		resource, group, _ := strings.Cut(resource, ".")
		if resource == "*" {
			group = "*"
		}
		resource, subresource, _ := strings.Cut(resource, "/")
		if c.may(t, who, authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: subresource}) {
			t.Errorf("%s may %s in the whole cluster", who, right)
		}
	}
}

func (c *cluster) may(t *testing.T, who string, what authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who, Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: &what,
	}}
	if err := c.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

func TestUpstreamsOperatorReadsEverythingAndChangesOnlyTeamNamespaces(t *testing.T) {
	c := newCluster(t, "gke")
	// sync/ binds it in this way.
	for _, object := range built(t, "../operator/config/manager") {
		if object.GetKind() == "ClusterRoleBinding" {
			c.apply(t, object)
		}
	}
	testClosure(t, c, true)
	operator := serviceAccount(platform.OperatorNamespace, platform.OperatorAccount)
	for _, test := range []struct {
		verb, group, resource, namespace, name string
		want                                   bool
	}{
		{"watch", "", "secrets", "", "", true},
		{"patch", "apps", "statefulsets", "team-web", "x", true},
		{"create", "", "services", "team-web", "", true},
		{"use", "auto.pulumi.com", "workspaces/rpc", "team-web", "x", true},
		{"create", "", "secrets", "team-web", "", true},
		{"create", "", "serviceaccounts/token", platform.OperatorNamespace, platform.OperatorAccount, true},
		{"patch", "coordination.k8s.io", "leases", platform.OperatorNamespace, "operator.pulumi.com", true},

		{"patch", "apps", "statefulsets", "flux-system", "x", false},
		{"create", "", "pods", "team-web", "", false},
		{"update", "", "pods", "flux-system", "x", false},
		{"create", "", "secrets", "flux-system", "", false},
		{"create", "", "secrets", "platform", "", false},
		{"patch", "", "secrets", "team-web", "strata-context", false},
		{"create", "", "serviceaccounts/token", "team-web", "web", false},
		{"create", "", "serviceaccounts/token", platform.OperatorNamespace, "default", false},
		{"use", "auto.pulumi.com", "workspaces/rpc", "platform", "x", false},
	} {
		resource, subresource, _ := strings.Cut(test.resource, "/")
		got := c.may(t, operator, authorizationv1.ResourceAttributes{
			Verb: test.verb, Group: test.group, Resource: resource, Subresource: subresource, Namespace: test.namespace, Name: test.name,
		})
		if got != test.want {
			t.Errorf("it may %s %s in %q: %v, want %v", test.verb, test.resource, test.namespace, got, test.want)
		}
	}
	// The pod of a run may ask the API server who its caller is, and nothing more.
	web := serviceAccount("team-web", "web")
	if !c.may(t, web, authorizationv1.ResourceAttributes{Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews"}) {
		t.Error("a run cannot check who calls it")
	}
	if c.may(t, web, authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"}) {
		t.Error("a run reads every Secret")
	}
}

package platform_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/platform"
)

// Accounts, as the API server knows them.
const (
	platformUser = "system:serviceaccount:platform:platform"
	operatorUser = "system:serviceaccount:pulumi-kubernetes-operator:pulumi-operator"
	webUser      = "system:serviceaccount:team-web:web"
)

// newCluster starts an API server that has the roles of this layer, bound as the layer and its hops bind them for the
// teams web and api.
func newCluster(t *testing.T) (*rest.Config, client.Client) {
	t.Helper()
	env := &envtest.Environment{}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: toolchaintest.Path(t, "etcd")}
	env.ControlPlane.GetAPIServer().Path = toolchaintest.Path(t, "kube-apiserver")
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	admin := clientFor(t, config, "")
	create := func(objects ...client.Object) {
		t.Helper()
		for _, object := range objects {
			if err := admin.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"platform", "pulumi-kubernetes-operator", "flux-system", "team-web", "team-api"} {
		create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for name, rules := range platform.ClusterRoles() {
		create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	}
	for namespace, rules := range platform.NamespaceRoles() {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: platform.RolePlatform}
		create(&rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}, Subjects: account("platform", "platform"),
		})
	}
	create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: platform.RolePlatform}, RoleRef: clusterRole(platform.RolePlatform), Subjects: account("platform", "platform"),
	})
	for _, team := range []string{"web", "api"} {
		namespace := "team-" + team
		create(
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: team}},
			&rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "strata-team"},
				RoleRef:    clusterRole(platform.RoleTeam), Subjects: account(namespace, team),
			},
			&rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "strata-operator"},
				RoleRef:    clusterRole(platform.RoleOperatorTenant), Subjects: account(platform.OperatorNamespace, platform.OperatorAccount),
			},
		)
	}
	return config, admin
}

func account(namespace, name string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}}
}

func clusterRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

// clientFor acts as the named account, or as the administrator when the name is empty.
func clientFor(t *testing.T, config *rest.Config, user string) client.Client {
	t.Helper()
	as := rest.CopyConfig(config)
	if user != "" {
		as.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(as, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// apply does what Flux does with a manifest.
func apply(ctx context.Context, c client.Client, manifest string) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), object); err != nil {
		return err
	}
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kustomize-controller"), client.ForceOwnership)
}

func binding(name, role string) string {
	return fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "%s"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "%s"}
subjects: [{kind: ServiceAccount, namespace: pulumi-kubernetes-operator, name: pulumi-operator}]
`, name, role)
}

func foreignKind(name, group, plural string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "%s"}
spec:
  group: %s
  scope: Namespaced
  names: {plural: %s, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, name, group, plural)
}

func TestRights(t *testing.T) {
	config, admin := newCluster(t)

	t.Run("the platform account applies the operator's kinds and binds its role", func(t *testing.T) {
		as := clientFor(t, config, platformUser)
		kinds, err := filepath.Glob("../operator/config/crd/bases/*.yaml")
		if err != nil || len(kinds) != 2 {
			t.Fatalf("found %v, %v", kinds, err)
		}
		for _, path := range kinds {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := apply(t.Context(), as, string(content)); err != nil {
				t.Errorf("apply %s: %v", path, err)
			}
		}
		if err := apply(t.Context(), as, binding(platform.OperatorBinding, platform.RoleOperator)); err != nil {
			t.Error(err)
		}
	})

	t.Run("the platform account climbs no further", func(t *testing.T) {
		as := clientFor(t, config, platformUser)
		for name, manifest := range map[string]string{
			"binding the administrator's role":         binding("mine", "cluster-admin"),
			"the same under the name that it may keep": binding(platform.OperatorBinding, "cluster-admin"),
			"binding its role under another name":      binding("mine", platform.RoleOperator),
			"joining the administrators":               binding("cluster-admin", "cluster-admin"),
			"a kind of another group":                  foreignKind("things.example.com", "example.com", "things"),
			"another kind of the operator's group":     foreignKind("things.pulumi.com", "pulumi.com", "things"),
			"a ClusterRole of its own":                 "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: mine}}",
			"more rights for the operator":             "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'strata:operator'}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}",
			"a Role in its own namespace":              "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: mine, namespace: platform}}",
			"a namespace":                              "{apiVersion: v1, kind: Namespace, metadata: {name: mine}}",
			"a Secret of the operator":                 "{apiVersion: v1, kind: Secret, metadata: {name: mine, namespace: pulumi-kubernetes-operator}}",
			"something in Flux's namespace":            "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: flux-system}}",
			"something in a team's namespace":          "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: team-web}}",
		} {
			if err := apply(t.Context(), as, manifest); !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v, want forbidden", name, err)
			}
		}
	})

	t.Run("the operator gets a token of a team's account and of no other", func(t *testing.T) {
		as := clientFor(t, config, operatorUser)
		token := func(namespace, name string) error {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			return as.SubResource("token").Create(t.Context(), account, &authenticationv1.TokenRequest{})
		}
		if err := token("team-web", "web"); err != nil {
			t.Error(err)
		}
		for _, namespace := range []string{"flux-system", "platform", "pulumi-kubernetes-operator"} {
			if err := token(namespace, "default"); !apierrors.IsForbidden(err) {
				t.Errorf("token of namespace %s: %v, want forbidden", namespace, err)
			}
		}
	})

	t.Run("a team applies its application", func(t *testing.T) {
		as := clientFor(t, config, webUser)
		deployment := &appsv1.Deployment{}
		labels := map[string]string{"app": "x"}
		deployment.Name, deployment.Namespace = "x", "team-web"
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "x", Image: "x"}}
		if err := as.Create(t.Context(), deployment); err != nil {
			t.Error(err)
		}
	})

	for _, test := range []struct {
		user, verb, group, resource, namespace, name string
		want                                         bool
	}{
		{platformUser, "patch", "kustomize.toolkit.fluxcd.io", "kustomizations", "platform", "operator", true},
		{platformUser, "patch", "kustomize.toolkit.fluxcd.io", "kustomizations", "flux-system", "flux-system", false},
		{platformUser, "patch", "kustomize.toolkit.fluxcd.io", "kustomizations", "team-web", "web", false},
		{platformUser, "patch", "source.toolkit.fluxcd.io", "gitrepositories", "platform", "platform", false},
		{platformUser, "patch", "apps", "deployments", "pulumi-kubernetes-operator", "operator", true},
		{platformUser, "patch", "apps", "deployments", "flux-system", "kustomize-controller", false},
		{platformUser, "get", "", "secrets", "platform", "platform", false},
		{platformUser, "get", "", "secrets", "team-web", "strata-context", false},
		{platformUser, "create", "", "serviceaccounts/token", "pulumi-kubernetes-operator", "pulumi-operator", false},
		{platformUser, "impersonate", "", "users", "", "system:admin", false},
		{platformUser, "escalate", "rbac.authorization.k8s.io", "clusterroles", "", "strata:operator", false},
		{platformUser, "delete", "rbac.authorization.k8s.io", "clusterrolebindings", "", "cluster-admin", false},

		{operatorUser, "watch", "pulumi.com", "stacks", "", "", true},
		{operatorUser, "patch", "pulumi.com", "stacks/status", "team-web", "x", true},
		{operatorUser, "delete", "pulumi.com", "stacks", "team-web", "x", false},
		{operatorUser, "get", "", "secrets", "team-web", "strata-context", true},
		{operatorUser, "list", "", "secrets", "team-web", "", true},
		{operatorUser, "get", "", "secrets", "flux-system", "flux-system", false},
		{operatorUser, "get", "", "secrets", "platform", "platform", false},
		{operatorUser, "patch", "rbac.authorization.k8s.io", "rolebindings", "team-web", "strata-team", false},
		{operatorUser, "create", "", "pods", "team-web", "", false},

		{webUser, "patch", "pulumi.com", "stacks", "team-web", "x", true},
		{webUser, "patch", "", "secrets", "team-web", "sql-auth", true},
		{webUser, "patch", "pulumi.com", "stacks/status", "team-web", "x", false},
		{webUser, "get", "", "secrets", "team-api", "strata-context", false},
		{webUser, "get", "", "secrets", "platform", "platform", false},
		{webUser, "get", "", "secrets", "flux-system", "flux-system", false},
		{webUser, "patch", "pulumi.com", "stacks", "team-api", "x", false},
		{webUser, "create", "", "serviceaccounts/token", "team-web", "web", false},
		{webUser, "patch", "", "serviceaccounts", "team-web", "web", false},
		{webUser, "patch", "", "resourcequotas", "team-web", "strata", false},
		{webUser, "patch", "", "namespaces", "", "team-web", false},
		{webUser, "patch", "networking.k8s.io", "networkpolicies", "team-web", "x", false},
		{webUser, "patch", "rbac.authorization.k8s.io", "rolebindings", "team-web", "strata-team", false},
		{webUser, "bind", "rbac.authorization.k8s.io", "clusterroles", "", "strata:operator", false},
		{webUser, "patch", "kustomize.toolkit.fluxcd.io", "kustomizations", "team-web", "web", false},
		{webUser, "patch", "source.toolkit.fluxcd.io", "gitrepositories", "team-web", "web", false},
	} {
		t.Run(fmt.Sprintf("%s %s %s in %s %v", test.user, test.verb, test.resource, test.namespace, test.want), func(t *testing.T) {
			resource, subresource, _ := strings.Cut(test.resource, "/")
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: test.user,
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: test.verb, Group: test.group, Resource: resource, Subresource: subresource, Namespace: test.namespace, Name: test.name,
				},
			}}
			if err := admin.Create(t.Context(), review); err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != test.want {
				t.Errorf("allowed: %v, want %v", review.Status.Allowed, test.want)
			}
		})
	}
}

// Package planstest runs an API server with Plans for tests, and acts as the operator.
package planstest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/plan"
)

// Cluster is an API server with the kinds Plan, Approval, Stack and Kustomization, and the namespace team-web.
type Cluster struct {
	// Admin is the configuration of the administrator.
	Admin *rest.Config
	// Team is the configuration of a user with a team's rights to Plans and Kustomizations in team-web, and Kubeconfig a kubeconfig of
	// this user in that namespace.
	Team       *rest.Config
	Kubeconfig []byte
	// Approver is the configuration of a user who may approve Plans in team-web, and ApproverKubeconfig a kubeconfig of this user.
	Approver           *rest.Config
	ApproverKubeconfig []byte

	objects dynamic.Interface
}

// Namespace is the namespace of the cluster's team.
const Namespace = "team-web"

// Start starts a cluster, which ends with the test.
func Start(t *testing.T) *Cluster {
	t.Helper()
	var kinds []string
	for _, name := range []string{"strata.dev_plans.yaml", "strata.dev_approvals.yaml", "pulumi.com_stacks.yaml"} {
		kinds = append(kinds, filepath.Join(toolchaintest.Root(t), "operator", "config", "crd", "bases", name))
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     kinds,
		CRDs:                  []*apiextensionsv1.CustomResourceDefinition{kustomizations()},
		ErrorIfCRDPathMissing: true,
	}
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
	// The limits of a client would slow down tests.
	config.QPS, config.Burst = 100, 200
	c := &Cluster{Admin: config}
	if c.objects, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(c.Admin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	user := func(name string, rules ...rbacv1.PolicyRule) (*rest.Config, []byte) {
		grant(t, client, name, rules)
		user, err := env.AddUser(envtest.User{Name: name}, config)
		if err != nil {
			t.Fatal(err)
		}
		kubeconfig, err := user.KubeConfig()
		if err != nil {
			t.Fatal(err)
		}
		return user.Config(), kubeconfig
	}
	read := []string{"get", "list", "watch"}
	c.Team, c.Kubeconfig = user("ada",
		rbacv1.PolicyRule{APIGroups: []string{plan.Group}, Resources: []string{plan.Plural}, Verbs: []string{"get", "list", "watch", "create", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{"kustomize.toolkit.fluxcd.io"}, Resources: []string{"kustomizations"}, Verbs: read},
	)
	c.Approver, c.ApproverKubeconfig = user("dba",
		rbacv1.PolicyRule{APIGroups: []string{plan.Group}, Resources: []string{plan.Plural, approval.Plural}, Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{plan.Group}, Resources: []string{approval.Plural}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"stacks"}, Verbs: read},
	)
	return c
}

// grant gives a user rights in the namespace.
func grant(t *testing.T, client kubernetes.Interface, name string, rules []rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace}, Rules: rules}
	if _, err := client.RbacV1().Roles(Namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	}
	if _, err := client.RbacV1().RoleBindings(Namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// kustomizations returns the kind of Flux, without a schema.
func kustomizations() *apiextensionsv1.CustomResourceDefinition {
	free := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "kustomizations.kustomize.toolkit.fluxcd.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "kustomize.toolkit.fluxcd.io", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "kustomizations", Singular: "kustomization", Kind: "Kustomization", ListKind: "KustomizationList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &free}},
			}},
		},
	}
}

// Sync creates a Kustomization of the source web in the team's namespace.
func (c *Cluster) Sync(t *testing.T, name, path string) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"name": name, "namespace": Namespace},
		"spec": map[string]any{
			"sourceRef": map[string]any{"kind": "GitRepository", "name": "web"}, "path": path, "serviceAccountName": name, "targetNamespace": Namespace,
		},
	}}
	resource := schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	if _, err := c.objects.Resource(resource).Namespace(Namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// DeleteKind deletes the kind Plan, as in a cluster that never had it.
func (c *Cluster) DeleteKind(ctx context.Context) error {
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	return c.objects.Resource(resource).Delete(ctx, plan.Plural+"."+plan.Group, metav1.DeleteOptions{})
}

// Plans returns the Plans of the team's namespace.
func (c *Cluster) Plans(t *testing.T) []*plan.Plan {
	t.Helper()
	list, err := c.objects.Resource(plan.Resource()).Namespace(Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []*plan.Plan
	for i := range list.Items {
		p, err := plan.From(&list.Items[i])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// Operate gives each new Plan the statuses that answer returns, one after the other, until the test ends.
func (c *Cluster) Operate(t *testing.T, answer func(*plan.Plan) []plan.Status) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			c.operate(ctx, answer)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

func (c *Cluster) operate(ctx context.Context, answer func(*plan.Plan) []plan.Status) {
	plans := c.objects.Resource(plan.Resource()).Namespace(Namespace)
	list, err := plans.List(ctx, metav1.ListOptions{})
	if err != nil {
		return // The test has ended.
	}
	for i := range list.Items {
		p, err := plan.From(&list.Items[i])
		if err != nil || p.Status.Phase != "" {
			continue
		}
		object := &list.Items[i]
		for _, status := range answer(p) {
			p.Status = status
			changed, err := p.Object()
			if err != nil {
				return
			}
			changed.SetResourceVersion(object.GetResourceVersion())
			// A test may have deleted the Plan.
			if object, err = plans.UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
				break
			}
		}
	}
}

package orders_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	entries "github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/orders"
	"github.com/strata-platform/strata/platform"
)

// entryNamespace is the namespace of the entry Database.
const entryNamespace = "team-catalogue-database"

// operatorUser is the user of the controller under test. It has the rights of the operator's account, and no others.
const operatorUser = "system:serviceaccount:pulumi-kubernetes-operator:pulumi-operator"

// cluster is an API server with the entry Database, which the tests of this package share.
type cluster struct {
	client.Client // as the administrator
	env           *envtest.Environment
	operator      *rest.Config
	scheme        *runtime.Scheme
}

var shared struct {
	sync.Mutex
	*cluster
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// tenantPolicies is the kind TenantPolicy without its schema.
const tenantPolicies = `
metadata: {name: tenantpolicies.strata.dev}
spec:
  group: strata.dev
  scope: Namespaced
  names: {kind: TenantPolicy, listKind: TenantPolicyList, plural: tenantpolicies, singular: tenantpolicy}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

func newCluster(t *testing.T) *cluster {
	t.Helper()
	etcd, apiserver := toolchaintest.Path(t, "etcd"), toolchaintest.Path(t, "kube-apiserver")
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		return shared.cluster
	}
	database, err := entries.Load(entries.Files, "database")
	if err != nil {
		t.Fatal(err)
	}
	policies := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(tenantPolicies), policies); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	env := &envtest.Environment{
		Scheme: scheme, CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true,
		CRDs: []*apiextensionsv1.CustomResourceDefinition{policies, database.Definition()},
	}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	env.ControlPlane.GetAPIServer().Path = apiserver
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	config.QPS = -1
	c := &cluster{env: env, scheme: scheme}
	shared.cluster = c
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	user, err := env.AddUser(envtest.User{Name: operatorUser}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.operator = user.Config()
	c.operator.QPS = -1
	c.grant(t, database)
	return c
}

// grant creates layer 2's roles of the operator, and the namespace of the entry.
func (c *cluster) grant(t *testing.T, database *entries.Entry) {
	t.Helper()
	own, added := platform.ClusterRoles(), platform.CatalogueRoles([]*entries.Entry{database})
	for _, name := range []string{platform.RoleOperator, platform.RoleOperatorTenant, platform.RoleOperatorOrders, platform.RoleOperatorEntry} {
		c.create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: append(own[name], added[name]...)})
	}
	c.create(t,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "operator"}, Subjects: operatorSubjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: platform.RoleOperator},
		},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: entryNamespace}},
	)
	c.bind(t, entryNamespace, platform.RoleOperatorTenant, platform.RoleOperatorEntry)
}

func operatorSubjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}}
}

func (c *cluster) bind(t *testing.T, namespace string, roles ...string) {
	t.Helper()
	for _, role := range roles {
		c.create(t, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: strings.ReplaceAll(role, ":", "-")}, Subjects: operatorSubjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		})
	}
}

func (c *cluster) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}

// team creates a team's namespace as layer 2 does. limit is the number of databases that the team may order.
func (c *cluster) team(t *testing.T, name string, limit int) (namespace string) {
	t.Helper()
	namespace = "team-" + name
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	c.bind(t, namespace, platform.RoleOperatorTenant, platform.RoleOperatorOrders)
	policy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "strata.dev/v1", "kind": "TenantPolicy", "metadata": map[string]any{"namespace": namespace, "name": "strata"},
		"spec": map[string]any{"team": name, "contact": "platform@example.com", "orders": map[string]any{"database": int64(limit)}},
	}}
	c.create(t, policy)
	return namespace
}

// start runs the controller until the test ends.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	direct, err := client.New(c.operator, client.Options{Scheme: c.scheme})
	if err != nil {
		t.Fatal(err)
	}
	logs := &buffer{}
	mgr, err := manager.New(c.operator, manager.Options{
		Scheme: c.scheme, Logger: logr.FromSlogHandler(slog.NewTextHandler(logs, nil)), Metrics: metricsserver.Options{BindAddress: "0"},
		// The tests of this package start one manager after another.
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := orders.Add(mgr, direct); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager: %v", err)
		}
		if t.Failed() {
			t.Logf("the controller's log:\n%s", logs)
		}
	})
}

// order creates an order from its spec.
func (c *cluster) order(t *testing.T, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object, err := c.tryOrder(t, namespace, name, spec)
	if err != nil {
		t.Fatalf("order %s/%s: %v", namespace, name, err)
	}
	return object
}

func (c *cluster) tryOrder(t *testing.T, namespace, name, spec string) (*unstructured.Unstructured, error) {
	t.Helper()
	object := &unstructured.Unstructured{}
	manifest := "apiVersion: catalogue.strata.dev/v1\nkind: Database\nmetadata: {name: " + name + "}\nspec: " + spec
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(namespace)
	return object, c.Create(t.Context(), object)
}

// eventually waits until a check succeeds, and fails the test with the check's last error otherwise.
func eventually(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

// stack waits for a Stack of the entry.
func (c *cluster) stack(t *testing.T, name string) *v1.Stack {
	t.Helper()
	stack := &v1.Stack{}
	eventually(t, "Stack "+name, func(ctx context.Context) error {
		return c.Get(ctx, client.ObjectKey{Namespace: entryNamespace, Name: name}, stack)
	})
	return stack
}

// succeed does what the operator and the Program do for a Stack: the Secret with the results, the outputs and the status.
func (c *cluster) succeed(t *testing.T, stack *v1.Stack, password string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: entryNamespace, Name: stack.Name}, Data: map[string][]byte{"password": []byte(password)}}
	if err := c.Patch(t.Context(), secret, client.Merge); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	} else if err != nil {
		c.create(t, secret)
	}
	c.setStatus(t, stack, func(status *v1.StackStatus) {
		status.ObservedGeneration = stack.Generation
		status.Outputs = v1.StackOutputs{
			"database": apiextensionsv1.JSON{Raw: []byte(`"name"`)}, "port": apiextensionsv1.JSON{Raw: []byte("3306")},
			"password": apiextensionsv1.JSON{Raw: []byte(`"` + v1.SecretOutput + `"`)},
		}
		status.MarkReady("done")
	})
}

func (c *cluster) setStatus(t *testing.T, stack *v1.Stack, set func(*v1.StackStatus)) {
	t.Helper()
	before := stack.DeepCopy()
	set(&stack.Status)
	if err := c.Status().Patch(t.Context(), stack, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// says waits until the order's Ready condition of its present generation has a status and a message.
func (c *cluster) says(t *testing.T, order *unstructured.Unstructured, status, want string) {
	t.Helper()
	eventually(t, "order "+order.GetName()+" says "+want, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(order), order); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(order.Object, "status", "conditions")
		for _, each := range conditions {
			condition, _ := each.(map[string]any)
			message, _ := condition["message"].(string)
			if condition["type"] == "Ready" && condition["status"] == status && strings.Contains(message, want) && condition["observedGeneration"] == order.GetGeneration() {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", conditions)
	})
}

// gone waits until an object does not exist.
func (c *cluster) gone(t *testing.T, object client.Object) {
	t.Helper()
	eventually(t, "the end of "+object.GetName(), func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); client.IgnoreNotFound(err) != nil || err != nil {
			return client.IgnoreNotFound(err)
		}
		return fmt.Errorf("it exists")
	})
}

// buffer stores the writes of several goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

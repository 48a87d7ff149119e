package controller_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

// operatorUser is the user of the operator under test, with only the rights that the
// platform layer grants.
const operatorUser = "system:serviceaccount:pulumi-kubernetes-operator:pulumi-operator"

// operatorNamespace is the operator's own namespace.
const operatorNamespace = "pulumi-kubernetes-operator"

// cluster is an API server that the tests of this package share. Each test has its own
// namespace.
type cluster struct {
	*envtest.Environment
	client.WithWatch

	operator *rest.Config

	// tools is the PATH of runs. backends is the root of their file backends.
	tools, backends string
}

var shared struct {
	sync.Mutex
	*cluster
}

func TestMain(m *testing.M) {
	sandboxtest.Enter()
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = 1
		}
		os.RemoveAll(filepath.Dir(shared.backends))
	}
	os.Exit(code)
}

// startCluster returns the shared API server.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	etcd, apiserver := toolchaintest.Path(t, "etcd"), toolchaintest.Path(t, "kube-apiserver")
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		return shared.cluster
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	env.ControlPlane.GetAPIServer().Path = apiserver
	// With it, deleted volume claims would wait for a controller that the tests do not run.
	env.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "StorageObjectInUseProtection")
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	shared.cluster = &cluster{Environment: env}
	shared.makeFolders(t)
	user, err := env.AddUser(envtest.User{Name: operatorUser}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shared.operator = user.Config()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if shared.WithWatch, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	shared.grantOperator(t)
	return shared.cluster
}

// makeFolders creates the folders of tools and of backends.
func (c *cluster) makeFolders(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "operator-test-")
	if err != nil {
		t.Fatal(err)
	}
	c.tools, c.backends = filepath.Join(dir, "tools"), filepath.Join(dir, "backends")
	if err := os.Mkdir(c.tools, 0o700); err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{}
	for _, name := range []string{"pulumi", "pulumi-language-yaml", "pulumi-resource-kubernetes"} {
		paths[name] = toolchaintest.Path(t, name)
	}
	for _, name := range []string{"git", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			paths[name] = path
		}
	}
	for name, path := range paths {
		if err := os.Symlink(path, filepath.Join(c.tools, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// grantOperator grants the operator its cluster-wide rights.
func (c *cluster) grantOperator(t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "operator"}
	c.create(t, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"pulumi.com"}, Resources: []string{"stacks"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{"pulumi.com"}, Resources: []string{"programs"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"pulumi.com"}, Resources: []string{"stacks/status", "programs/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		{APIGroups: []string{"strata.dev"}, Resources: []string{"plans"}, Verbs: []string{"get", "list", "watch"}},
	}})
	c.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}},
	})
	c.create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "operator-tenant"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"strata.dev"}, Resources: []string{"tenantpolicies"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"strata.dev"}, Resources: []string{"stacklogs"}, Verbs: []string{"create", "patch"}},
		{APIGroups: []string{"strata.dev"}, Resources: []string{"approvals"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"strata.dev"}, Resources: []string{"plans"}, Verbs: []string{"create", "delete"}},
		{APIGroups: []string{"strata.dev"}, Resources: []string{"plans/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"source.toolkit.fluxcd.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
	}})
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})
	own := metav1.ObjectMeta{Namespace: operatorNamespace, Name: "operator"}
	c.create(t, &rbacv1.Role{ObjectMeta: own, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "create", "patch", "delete"}},
	}})
	c.create(t, &rbacv1.RoleBinding{
		ObjectMeta: own,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: own.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}},
	})
}

func (c *cluster) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
}

// team is a namespace as the platform layer creates it. The namespace has a service
// account with all rights on ConfigMaps, and a Secret with the context.
type team struct {
	*cluster
	namespace string
	state     string
}

func newTeam(t *testing.T, c *cluster) *team {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-"}}
	c.create(t, namespace)
	tm := &team{cluster: c, namespace: namespace.Name, state: filepath.Join(c.backends, namespace.Name)}
	t.Cleanup(func() { tm.abandon(t) })
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: tm.namespace, Name: name} }
	bind := func(name, kind, role string, subject rbacv1.Subject) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{
			ObjectMeta: meta(name),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
			Subjects:   []rbacv1.Subject{subject},
		}
	}
	c.create(t,
		&corev1.ServiceAccount{ObjectMeta: meta("web")},
		&rbacv1.Role{ObjectMeta: meta("web"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps", "persistentvolumeclaims"}, Verbs: []string{"*"}},
			{APIGroups: []string{"pulumi.com"}, Resources: []string{"programs", "stacks"}, Verbs: []string{"*"}},
		}},
		bind("web", "Role", "web", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: tm.namespace, Name: "web"}),
		bind("operator", "ClusterRole", "operator-tenant", rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}),
		&corev1.Secret{ObjectMeta: meta("context"), StringData: map[string]string{
			"backend": "file://" + tm.state, "passphrase": "canary-passphrase",
		}},
	)
	return tm
}

// abandon removes the finalizers of all Stacks, so that the operators of other tests do
// not process them.
func (tm *team) abandon(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var stacks v1.StackList
	if err := tm.List(ctx, &stacks, client.InNamespace(tm.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range stacks.Items {
		stack := &stacks.Items[i]
		before := stack.DeepCopy()
		stack.Finalizers = nil
		if err := tm.Delete(ctx, before.DeepCopy()); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
		if err := tm.Patch(ctx, stack, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}

// apply creates or updates an object from its manifest.
func (tm *team) apply(t *testing.T, object client.Object, manifest string) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(manifest), object); err != nil {
		t.Fatalf("decode manifest: %v", err)
	}
	object.SetNamespace(tm.namespace)
	existing := object.DeepCopyObject().(client.Object)
	err := tm.Get(t.Context(), client.ObjectKeyFromObject(object), existing)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		tm.create(t, object)
		return
	}
	// The operator may change the object between the two requests.
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := tm.Get(t.Context(), client.ObjectKeyFromObject(object), existing); err != nil {
			return err
		}
		object.SetResourceVersion(existing.GetResourceVersion())
		object.SetFinalizers(existing.GetFinalizers())
		return tm.Update(t.Context(), object)
	})
	if err != nil {
		t.Fatalf("update %s: %v", object.GetName(), err)
	}
}

// await waits until want accepts a Stack. want gets nil for a deleted Stack.
func (tm *team) await(t *testing.T, name, what string, want func(*v1.Stack) bool) *v1.Stack {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	watch, err := tm.Watch(ctx, &v1.StackList{}, client.InNamespace(tm.namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	var last *v1.Stack
	if err := tm.Get(ctx, client.ObjectKey{Namespace: tm.namespace, Name: name}, &v1.Stack{}); err != nil && want(nil) {
		return nil
	}
	for event := range watch.ResultChan() {
		stack, ok := event.Object.(*v1.Stack)
		if !ok {
			t.Fatalf("watch Stack %s: %v", name, event.Object)
		}
		last = stack
		if event.Type == "DELETED" {
			stack = nil
		}
		if want(stack) {
			return stack
		}
	}
	status, _ := yaml.Marshal(last.Status)
	t.Fatalf("Stack %s is not %s:\n%s", name, what, status)
	return nil
}

// condition returns a condition of a Stack's present generation.
func condition(stack *v1.Stack, kind string) metav1.Condition {
	if stack != nil && stack.Status.ObservedGeneration == stack.Generation {
		if c := meta.FindStatusCondition(stack.Status.Conditions, kind); c != nil {
			return *c
		}
	}
	return metav1.Condition{}
}

func ready(stack *v1.Stack) bool {
	return condition(stack, v1.ReadyCondition).Status == metav1.ConditionTrue
}

func gone(stack *v1.Stack) bool { return stack == nil }

// startOperator runs the operator until the test ends or the caller calls stop.
func startOperator(t *testing.T, c *cluster) (stop func()) {
	t.Helper()
	return startOperatorWith(t, c, func(*controller.Options) {})
}

// startOperatorWith is startOperator with changed options.
func startOperatorWith(t *testing.T, c *cluster, change func(*controller.Options)) (stop func()) {
	t.Helper()
	t.Setenv("PATH", c.tools)
	t.Setenv("OPERATOR_SECRET", "canary-operator")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	// The manager may log after Run has returned and the test has ended, so its log must not go to t.Output.
	logs := &buffer{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the operator's log:\n%s", logs)
		}
	})
	opts := controller.Options{
		Config: c.operator, PassEnv: []string{"PATH"}, WorkDir: t.TempDir(), FileBackendRoot: c.backends,
		Namespace: operatorNamespace, RunMemory: 64 << 20, RunRecords: t.TempDir(),
		Log: slog.New(slog.NewTextHandler(logs, nil)),
	}
	change(&opts)
	go func() {
		done <- controller.Run(ctx, opts)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("operator: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
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

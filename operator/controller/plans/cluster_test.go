package plans_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	pulumimetav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/hop/stackdefaults"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/claims"
	"github.com/strata-platform/strata/operator/controller/plans"
	"github.com/strata-platform/strata/operator/controller/slots"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/hopguard"
)

// operatorUser is the operator, with only the rights that layer 2 grants.
const operatorUser = "system:serviceaccount:" + platform.OperatorNamespace + ":" + platform.OperatorAccount

// cluster is an API server with the policies of sync/policies that the tests share. Each test has a namespace of its own.
type cluster struct {
	client.Client // as the administrator
	env           *envtest.Environment
	operator      *rest.Config
	admin         *rest.Config
	scheme        *runtime.Scheme

	// backends is the root of the state of all teams.
	backends string
}

var shared struct {
	sync.Mutex
	*cluster
}

func TestMain(m *testing.M) {
	sandboxtest.Enter()
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = 1
		}
		os.RemoveAll(shared.backends)
	}
	os.Exit(code)
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	etcd, apiserver := toolchaintest.Path(t, "etcd"), toolchaintest.Path(t, "kube-apiserver")
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		return shared.cluster
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	env.ControlPlane.GetAPIServer().Path = apiserver
	admin, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	backends, err := os.MkdirTemp("", "plans-test-")
	if err != nil {
		t.Fatal(err)
	}
	admin.QPS = -1
	c := &cluster{env: env, scheme: scheme, admin: admin, backends: backends}
	shared.cluster = c
	if c.Client, err = client.New(admin, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	user, err := env.AddUser(envtest.User{Name: operatorUser}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.operator = user.Config()
	c.operator.QPS = -1
	for name, rules := range platform.ClusterRoles() {
		c.create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	}
	c.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: platform.RoleOperator},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: platform.OperatorNamespace, Name: platform.OperatorAccount}},
	})
	c.layerTwo(t, func(ctx *pulumi.Context) error {
		_, err := hop.NewPolicyKind(ctx, "policies")
		if err == nil {
			_, err = stackdefaults.New(ctx, "defaults")
		}
		if err == nil {
			_, err = hopguard.New(ctx, &pulumimetav1.ObjectMetaArgs{Name: pulumi.String(hopguard.Name)}, "the platform team")
		}
		return err
	})
	c.policies(t)
	return c
}

// policies creates the policies of sync/policies for Stacks and Programs.
func (c *cluster) policies(t *testing.T) {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../../sync/policies")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources.Resources() {
		content, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		if name := r.GetName(); strings.HasPrefix(name, "strata-stacks") || strings.HasPrefix(name, "strata-programs") || strings.HasPrefix(name, "strata-plans") {
			c.create(t, &unstructured.Unstructured{Object: content})
		}
	}
}

// layerTwo creates the objects that a program of layer 2 registers, except those of kinds that this cluster does not have.
func (c *cluster) layerTwo(t *testing.T, program pulumi.RunFunc) {
	t.Helper()
	registered := &pulumitest.Engine{}
	if err := registered.Run("plans", "dev", program); err != nil {
		t.Fatal(err)
	}
	for _, first := range []bool{true, false} {
		for _, r := range registered.All() {
			kind := r.Type[strings.LastIndex(r.Type, ":")+1:]
			isFirst := kind == "Namespace" || kind == "CustomResourceDefinition"
			if !strings.HasPrefix(r.Type, "kubernetes:") || strings.HasSuffix(kind, "Patch") || strings.Contains(r.Type, "toolkit.fluxcd.io/v1:") || isFirst != first {
				continue
			}
			content := map[string]any{}
			for key := range r.Inputs {
				content[string(key)], _ = pulumitest.Plain(t, r.Inputs, string(key))
			}
			content["kind"] = kind
			// The API server serves a new kind after a moment.
			eventually(t, r.Name+" is made", func() error { return c.Create(t.Context(), &unstructured.Unstructured{Object: plainJSON(t, content)}) })
		}
	}
}

// plainJSON returns values as JSON has them.
func plainJSON(t *testing.T, content map[string]any) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	if err := object.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return object.Object
}

func (c *cluster) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not %s: %v", what, err)
		case <-ticker.C:
		}
	}
}

// team is a team as layer 2 creates it.
type team struct {
	*cluster
	namespace string
}

// canaries must appear nowhere except in the Secret of the team's context and in the passphrase of a request.
const passphraseCanary, keyCanary, secretCanary = "canary-passphrase", "canary-google-key", "canary-secret"

func newTeam(t *testing.T, c *cluster, name string) *team {
	t.Helper()
	return newTeamIn(t, c, name, "file://"+filepath.Join(c.backends, "team-"+name))
}

// newTeamIn returns a team with the state of its Stacks in a backend.
func newTeamIn(t *testing.T, c *cluster, name, backend string, change ...func(*hop.HopArgs)) *team {
	t.Helper()
	tm := &team{cluster: c, namespace: "team-" + name}
	c.layerTwo(t, func(ctx *pulumi.Context) error {
		args := &hop.HopArgs{
			Namespace: tm.namespace, Account: name, Roles: []string{platform.RoleTeam},
			Operator: hop.Operator{Namespace: pulumi.String(platform.OperatorNamespace), Account: pulumi.String(platform.OperatorAccount), Role: platform.RoleOperatorTenant},
			PlanRole: platform.RoleTeamPlan,
			Source:   hop.Source{URL: pulumi.String("https://git.example.com/a.git"), Branch: pulumi.String("main"), Path: pulumi.String("./")},
			Policy: &hop.Policy{
				Types: []string{"kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:Secret", "random:*", "gcp:sql/*"}, StackAccounts: []string{name},
				Contact: pulumi.String("the platform team"),
			},
			Context: handoff.Tenant{
				BackendURL: pulumi.String(backend), Passphrase: pulumi.String(passphraseCanary),
				GoogleCredentials: pulumi.String(keyCanary), Project: pulumi.String("acme"), Region: pulumi.String("europe-west1"), Instance: pulumi.String("strata"),
			},
		}
		for _, f := range change {
			f(args)
		}
		_, err := hop.NewHop(ctx, name, args)
		return err
	})
	// Admission needs a moment to see the policies and the parameters.
	eventually(t, "the policies hold", func() error {
		err := tm.try(t, "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: x}, spec: {serviceAccountName: strata-plan, programRef: {name: x}}}")
		if err == nil || !strings.Contains(err.Error(), "Stacks of team "+name) {
			return fmt.Errorf("a Stack as %s: %w", plan.Account, err)
		}
		return tm.try(t, "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: x}, spec: {programRef: {name: x}}}")
	})
	return tm
}

// try creates an object in a dry run, as the team's account.
func (tm *team) try(t *testing.T, manifest string) error {
	t.Helper()
	return tm.as(t, strings.TrimPrefix(tm.namespace, "team-")).Create(t.Context(), tm.parse(t, manifest), client.DryRunAll)
}

// as returns a client that acts as an account of the team.
func (tm *team) as(t *testing.T, account string) client.Client {
	t.Helper()
	config := rest.CopyConfig(tm.admin)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + tm.namespace + ":" + account, Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	as, err := client.New(config, client.Options{Scheme: tm.scheme})
	if err != nil {
		t.Fatal(err)
	}
	return as
}

func (tm *team) parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), object); err != nil {
		t.Fatalf("%v in:\n%s", err, manifest)
	}
	object.SetNamespace(tm.namespace)
	return object
}

// apply applies a stream of objects as Flux does.
func (tm *team) apply(t *testing.T, manifests string) {
	t.Helper()
	as := tm.as(t, strings.TrimPrefix(tm.namespace, "team-"))
	for manifest := range strings.SplitSeq(manifests, "\n---\n") {
		object := tm.parse(t, manifest)
		object.SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": "sync", "kustomize.toolkit.fluxcd.io/namespace": tm.namespace})
		err := as.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kustomize-controller"), client.ForceOwnership)
		if err != nil {
			t.Fatalf("apply %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

const commitID = "0123456789012345678901234567890123456789"

// plan creates a Plan as the team's account.
func (tm *team) plan(t *testing.T, name string, spec plan.Spec) {
	t.Helper()
	account := strings.TrimPrefix(tm.namespace, "team-")
	if spec.Stack == "" {
		spec.Account, spec.Commit = cmp.Or(spec.Account, account), cmp.Or(spec.Commit, commitID)
	}
	p := &plan.Plan{Spec: spec}
	p.Namespace, p.Name = tm.namespace, name
	object, err := p.Object()
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	if err := tm.as(t, account).Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// get returns a Plan, or nil if there is none.
func (tm *team) get(t *testing.T, name string) *plan.Plan {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(plan.Resource().GroupVersion().WithKind(plan.Kind))
	if err := tm.Get(t.Context(), types.NamespacedName{Namespace: tm.namespace, Name: name}, object); err != nil {
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return nil
	}
	p, err := plan.From(object)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// complete waits until a Plan is complete.
func (tm *team) complete(t *testing.T, name string) *plan.Plan {
	t.Helper()
	var p *plan.Plan
	eventually(t, "Plan "+name+" is complete", func() error {
		if p = tm.get(t, name); p == nil || p.Status.Phase != plan.Ready && p.Status.Phase != plan.Failed {
			return fmt.Errorf("it is %+v", p)
		}
		return nil
	})
	return p
}

// start runs the controller until the test ends. It returns the slots.
func (c *cluster) start(t *testing.T, runner plans.Runner, change ...func(*plans.Options)) *slots.Slots {
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
	free := slots.New(2, 0, func(bool) bool { return true }, func(types.NamespacedName) {})
	opts := plans.Options{Client: direct, Config: c.operator, Engine: runner, Slots: free, Claims: claims.New(direct, direct), Backends: c.backends, Hide: (&engine.Engine{}).Hide}
	for _, f := range change {
		f(&opts)
	}
	if err := plans.Add(mgr, opts); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if log := logs.String(); t.Failed() {
			t.Logf("the operator's log:\n%s", log)
		} else if i := strings.Index(log, "canary"); i >= 0 {
			t.Errorf("the log has a secret: %s", log[max(0, i-200):min(len(log), i+50)])
		}
	})
	return free
}

// versions returns the resource versions of all objects that a preview could write.
func (tm *team) versions(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, kind := range []string{"v1/ConfigMap", "v1/Secret", "v1/ServiceAccount", "pulumi.com/v1/Stack", "pulumi.com/v1/Program", "strata.dev/v1/StackLog", "v1/Event"} {
		list := &unstructured.UnstructuredList{}
		at := strings.LastIndexByte(kind, '/')
		list.SetAPIVersion(kind[:at])
		list.SetKind(kind[at+1:] + "List")
		if err := tm.List(t.Context(), list, client.InNamespace(tm.namespace)); err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			all = append(all, object.GetKind()+" "+object.GetName()+" "+object.GetResourceVersion())
		}
	}
	slices.Sort(all)
	return all
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

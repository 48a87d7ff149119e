package examples_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/hop/stackdefaults"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
	"github.com/strata-platform/strata/test/long"
)

const namespace = "team-web"

// cluster is an API server with the operator's CRDs and the objects of the hop of team web.
type cluster struct {
	client.Client // as the administrator
	config        *rest.Config
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../operator/config/crd/bases"}, ErrorIfCRDPathMissing: true}
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
	config.QPS = -1
	c := &cluster{config: config}
	if c.Client, err = client.New(config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: platform.RoleTeam}, Rules: platform.ClusterRoles()[platform.RoleTeam],
	}); err != nil {
		t.Fatal(err)
	}
	c.makeHop(t)
	return c
}

// madeByHop returns an engine that has recorded the resources of a hop with the defaults of teams.yaml.
func madeByHop(t *testing.T) *pulumitest.Engine {
	t.Helper()
	engine := &pulumitest.Engine{}
	err := engine.Run("examples", "dev", func(ctx *pulumi.Context) error {
		if _, err := hop.NewPolicyKind(ctx, "policies"); err != nil {
			return err
		}
		if _, err := stackdefaults.New(ctx, "stack-defaults"); err != nil {
			return err
		}
		_, err := hop.NewHop(ctx, "web", &hop.HopArgs{
			Namespace: namespace, Account: "web", Roles: []string{platform.RoleTeam},
			Operator: hop.Operator{Namespace: pulumi.String(platform.OperatorNamespace), Account: pulumi.String(platform.OperatorAccount), Role: platform.RoleOperatorTenant},
			Source:   hop.Source{URL: pulumi.String("https://git.example.com/web.git"), Branch: pulumi.String("main"), Path: pulumi.String("./")},
			Policy:   &hop.Policy{Types: teams.DefaultAllow(), StackAccounts: []string{"web"}, Contact: pulumi.String("the platform team")},
			Context: handoff.Tenant{
				BackendURL: pulumi.String("gs://example-web"), Passphrase: pulumi.String("canary-passphrase"), GoogleCredentials: pulumi.String(""),
				Project: pulumi.String("example"), Region: pulumi.String("europe-west1"), Instance: pulumi.String("shared"),
			},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// makeHop creates the objects of the hop and the policy that fills in Stacks, without the objects of Flux, because the
// cluster has no CRDs for them. It waits until the policy is at work.
func (c *cluster) makeHop(t *testing.T) {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, made := range madeByHop(t).All() {
		kind := made.Type[strings.LastIndex(made.Type, ":")+1:]
		if !strings.HasPrefix(made.Type, "kubernetes:") || strings.Contains(made.Type, "fluxcd.io") {
			continue
		}
		object := &unstructured.Unstructured{Object: map[string]any{"kind": strings.TrimSuffix(kind, "Patch")}}
		for key := range made.Inputs {
			if key != "kind" {
				object.Object[string(key)], _ = pulumitest.Plain(t, made.Inputs, string(key))
			}
		}
		if kind == "Namespace" || kind == "CustomResourceDefinition" {
			objects = slices.Insert(objects, 0, object)
		} else {
			objects = append(objects, object)
		}
	}
	for _, object := range objects {
		// The API server serves a new kind after a moment.
		eventually(t, object.GetName()+" is made", func() error { return apply(t.Context(), c, object) })
	}
	eventually(t, "Stacks are filled in", func() error {
		return apply(t.Context(), c, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "pulumi.com/v1", "kind": "Stack", "metadata": map[string]any{"name": "any", "namespace": namespace},
			"spec": map[string]any{"programRef": map[string]any{"name": "any"}},
		}}, client.DryRunAll)
	})
}

// apply applies a manifest in the same way as Flux.
func apply(ctx context.Context, c client.Client, object *unstructured.Unstructured, opts ...client.ApplyOption) error {
	opts = append(opts, client.FieldOwner("kustomize-controller"), client.ForceOwnership)
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), opts...)
}

// warnings records the warnings of the API server.
type warnings struct {
	sync.Mutex
	all []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext. It records the warning.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	w.all = append(w.all, text)
}

// asTeam returns a client with a token of the team's account, and the warnings for that client. The API server refuses
// unknown fields.
func (c *cluster) asTeam(t *testing.T) (client.Client, *warnings) {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	seen := &warnings{}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken, config.QPS, config.WarningHandlerWithContext = request.Status.Token, -1, seen
	as, err := client.New(config, client.Options{Mapper: c.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(as, client.FieldValidation(metav1.FieldValidationStrict)), seen
}

func TestATeamMayApplyEveryExample(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	team, seen := c.asTeam(t)
	for folder := range examples {
		for _, object := range load(t, folder).resources {
			content, err := object.Map()
			if err != nil {
				t.Fatal(err)
			}
			manifest := &unstructured.Unstructured{Object: content}
			manifest.SetNamespace(namespace)
			if err := apply(t.Context(), team, manifest, client.DryRunAll); err != nil {
				t.Errorf("%s: %v", folder, err)
			}
		}
	}
	// In this namespace the API server warns of violations of Pod Security's level "restricted".
	if len(seen.all) > 0 {
		t.Errorf("the API server warns: %q", seen.all)
	}
}

// TestTheNamespaceAcceptsThePod acts as two controllers that do not run here: the quota controller, and the one that
// creates the pods of a Deployment. The test deletes the LimitRange, so that the pod itself must set the requests that
// the quota counts.
func TestTheNamespaceAcceptsThePod(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	if err := c.DeleteAllOf(t.Context(), &corev1.LimitRange{}, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	quota := &corev1.ResourceQuota{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "strata"}, quota); err != nil {
		t.Fatal(err)
	}
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{}
	for name := range quota.Spec.Hard {
		quota.Status.Used[name] = resource.MustParse("0")
	}
	if err := c.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	template := load(t, "wordpress").deployments["wordpress"].Spec.Template
	pod := func(edit func(*corev1.PodSpec)) error {
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "wordpress", Labels: template.Labels}, Spec: *template.Spec.DeepCopy()}
		edit(&object.Spec)
		return c.Create(t.Context(), object, client.DryRunAll)
	}
	// The API server sees the quota and the deletion of the LimitRange after a moment.
	for name, test := range map[string]struct {
		edit func(*corev1.PodSpec)
		want string
	}{
		"without requests":     {func(s *corev1.PodSpec) { s.InitContainers[0].Resources = corev1.ResourceRequirements{} }, "must specify"},
		"with a node's folder": {func(s *corev1.PodSpec) { s.Volumes[0].VolumeSource = hostPath() }, "PodSecurity"},
	} {
		eventually(t, name+" it is refused", func() error {
			if err := pod(test.edit); err == nil || !strings.Contains(err.Error(), test.want) {
				return fmt.Errorf("got %w, want it refused with %q", err, test.want)
			}
			return nil
		})
	}
	if err := pod(func(*corev1.PodSpec) {}); err != nil {
		t.Error(err)
	}
}

// TestProgramsDeclareOnlyTheDefaultTypes compares the types in each program with the TenantPolicy.
func TestProgramsDeclareOnlyTheDefaultTypes(t *testing.T) {
	policy := madeByHop(t).Get(t, "kubernetes:strata.dev/v1:TenantPolicy", "web-policy")
	names, _ := pulumitest.Plain(t, policy.Inputs, "spec.typeNames")
	prefixes, _ := pulumitest.Plain(t, policy.Inputs, "spec.typePrefixes")
	declared := map[string]any{}
	for folder := range examples {
		for _, program := range load(t, folder).programs {
			for name, r := range program.Program.Resources {
				declared[program.Name+": "+name] = r.Type
			}
		}
	}
	for name, r := range project(t, "project-in-git/infra").Resources {
		declared["Pulumi.yaml: "+name] = r.(map[string]any)["type"]
	}
	for where, each := range declared {
		begins := func(prefix any) bool { return strings.HasPrefix(each.(string), prefix.(string)) }
		if !slices.Contains(names.([]any), each) && !slices.ContainsFunc(prefixes.([]any), begins) {
			t.Errorf("%s is a %s, which is not among the default types", where, each)
		}
	}
}

func hostPath() corev1.VolumeSource {
	return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("wait until %s: %v", what, last)
	}
}

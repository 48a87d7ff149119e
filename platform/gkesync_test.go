package platform_test

import (
	"encoding/json"
	"path"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/internal/local/clustertest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
	"github.com/strata-platform/strata/test/long"
)

// TestThePlatformAccountAppliesAllThatGoogleCloudSyncs runs layer 2 for the target gke by Pulumi's engine against a real
// control plane with the kinds of the pinned Flux. It then applies sync/ as the platform account, as Flux does.
func TestThePlatformAccountAppliesAllThatGoogleCloudSyncs(t *testing.T) {
	long.Test(t)
	for operator, entry := range map[string]string{operators.Upstream: "gke", operators.Embedded: "gke-embedded"} {
		t.Run(operator, func(t *testing.T) { testGoogleSyncs(t, operator, "../sync/clusters/"+entry) })
	}
}

func testGoogleSyncs(t *testing.T, operator, entry string) {
	cluster := clustertest.Start(t)
	r := cluster.Runner(t)
	cloudtest.Up(t, r, bootstrapped(cluster.Kubeconfig(t, "127.0.0.1")))
	layer := second(t)
	for key, value := range map[string]string{"target": "gke", "operator": operator, "operatorImage": operatorImage} {
		layer.Config[platform.Project+":"+key] = auto.ConfigValue{Value: value}
	}
	cloudtest.Up(t, r, layer)
	act := actAs(t, cluster, platform.PlatformNamespace, platform.PlatformAccount)

	objects := built(t, entry)
	for _, sync := range objects {
		source, _, _ := unstructured.NestedString(sync.Object, "spec", "sourceRef", "name")
		folder, _, _ := unstructured.NestedString(sync.Object, "spec", "path")
		if source == platform.PlatformAccount {
			objects = append(objects, built(t, path.Join("..", folder))...)
		}
	}
	upstream := operator == operators.Upstream
	// Upstream's CustomResourceDefinitions come from upstream's repository. Here only their names matter.
	for _, name := range [][3]string{
		{"stacks.pulumi.com", "pulumi.com", "stacks"}, {"programs.pulumi.com", "pulumi.com", "programs"},
		{"workspaces.auto.pulumi.com", "auto.pulumi.com", "workspaces"}, {"updates.auto.pulumi.com", "auto.pulumi.com", "updates"},
	} {
		if upstream {
			objects = append(objects, parsed(t, kind(name[0], name[1], name[2])))
		}
	}
	for _, object := range objects {
		if err := applyAs(t, act, object); err != nil {
			t.Errorf("the platform account cannot apply %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}

	t.Run("and no other source", func(t *testing.T) {
		for _, object := range objects {
			if object.GetKind() != "GitRepository" {
				continue
			}
			for _, name := range []string{"another", platform.PlatformAccount} {
				other := copied(t, object)
				other.SetName(name)
				if err := applyAs(t, act, other); !apierrors.IsForbidden(err) {
					t.Errorf("GitRepository %s: %v, want forbidden", name, err)
				}
			}
		}
	})
	t.Run("and removes what the other operator has left", func(t *testing.T) {
		left := parsed(t, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {namespace: "+platform.OperatorNamespace+", name: "+platform.OperatorAccount+"}}")
		if !upstream {
			left = parsed(t, "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {namespace: "+platform.PlatformNamespace+", name: "+platform.OperatorSource+"}, spec: {url: 'https://example.com', interval: 1m}}")
		}
		if err := applyAs(t, act, left); !apierrors.IsForbidden(err) {
			t.Errorf("the platform account creates it: %v", err)
		}
		if err := cluster.Create(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		if err := act.Get(t.Context(), client.ObjectKeyFromObject(left), left); err != nil {
			t.Error(err)
		}
		if err := act.Delete(t.Context(), left); err != nil {
			t.Error(err)
		}
	})
	t.Run("and the operator's pod is one that its namespace takes", func(t *testing.T) {
		var deployment appsv1.Deployment
		key := client.ObjectKey{Namespace: platform.OperatorNamespace, Name: platform.OperatorAccount}
		if err := cluster.Get(t.Context(), key, &deployment); err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "operator", Labels: deployment.Spec.Template.Labels},
			Spec:       deployment.Spec.Template.Spec,
		}
		if err := cluster.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		for name, change := range reachingTheNode {
			other := pod.DeepCopy()
			change(&other.Spec, &other.Spec.Containers[0])
			if err := cluster.Create(t.Context(), other, client.DryRunAll); !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v, want forbidden", name, err)
			}
		}
	})
}

// operatorImage is an image of the embedded operator.
const operatorImage = "registry.example.com/strata-operator:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// reachingTheNode are changes of the operator's pod with which it would reach its node, by what they add. Both the pod security
// standard "restricted" and the policy in its place refuse each of them.
var reachingTheNode = map[string]func(*corev1.PodSpec, *corev1.Container){
	"a privileged container": func(_ *corev1.PodSpec, c *corev1.Container) {
		c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = new(true), nil
	},
	"new privileges": func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = nil },
	"a capability": func(_ *corev1.PodSpec, c *corev1.Container) {
		c.SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
	},
	"the default capabilities": func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.Capabilities = nil },
	"root in a container":      func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.RunAsUser = new(int64(0)) },
	"root in the pod":          func(s *corev1.PodSpec, _ *corev1.Container) { s.SecurityContext.RunAsUser = new(int64(0)) },
	"any user":                 func(s *corev1.PodSpec, _ *corev1.Container) { s.SecurityContext.RunAsNonRoot = nil },
	"the node's network":       func(s *corev1.PodSpec, _ *corev1.Container) { s.HostNetwork = true },
	"the node's processes":     func(s *corev1.PodSpec, _ *corev1.Container) { s.HostPID = true },
	"the node's memory":        func(s *corev1.PodSpec, _ *corev1.Container) { s.HostIPC = true },
	"a port of the node":       func(_ *corev1.PodSpec, c *corev1.Container) { c.Ports[0].HostPort = c.Ports[0].ContainerPort },
	"a folder of the node": func(s *corev1.PodSpec, _ *corev1.Container) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}})
	},
	"a privileged container before the others": func(s *corev1.PodSpec, c *corev1.Container) {
		first := c.DeepCopy()
		first.Name, first.Ports, first.LivenessProbe, first.ReadinessProbe = "first", nil, nil, nil
		first.SecurityContext.Privileged, first.SecurityContext.AllowPrivilegeEscalation = new(true), nil
		s.InitContainers = append(s.InitContainers, *first)
	},
}

// actAs returns a client that acts as a service account of the cluster, with a token of it.
func actAs(t *testing.T, cluster *clustertest.Cluster, namespace, name string) client.Client {
	t.Helper()
	admin, err := clientcmd.RESTConfigFromKubeConfig([]byte(cluster.Kubeconfig(t, "127.0.0.1")))
	if err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := cluster.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = request.Status.Token
	as, err := client.New(config, client.Options{Mapper: cluster.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return as
}

// applyAs applies an object in the same way as Flux. The API server refuses unknown fields.
func applyAs(t *testing.T, as client.Client, object *unstructured.Unstructured) error {
	t.Helper()
	return as.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(copied(t, object)), client.FieldOwner("kustomize-controller"), client.ForceOwnership)
}

// copied returns a copy whose values have the types that Kubernetes uses.
func copied(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	content, err := json.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, string(content))
}

func parsed(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), object); err != nil {
		t.Fatal(err)
	}
	return object
}

package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/flux2/v2/pkg/manifestgen"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/install"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

const fluxNamespace = "flux-system"

// controllers are the controllers of Flux's default installation.
var controllers = []string{"source-controller", "kustomize-controller", "helm-controller", "notification-controller"}

func TestFluxRunsFromItsOwnDeployments(t *testing.T) {
	long.Test(t)
	// Build the controllers now, so that the pods do not wait for the builds.
	for _, name := range controllers {
		toolchaintest.Path(t, name)
	}
	c := realCluster(t)
	t.Parallel()
	objects := c.installFlux(t, toolchaintest.Path(t, "flux-manifests"), controllers...)
	for _, name := range controllers {
		c.waitAvailable(t, name)
		if p := c.only(t, name); p.Annotations[runtime.Annotation] != runtime.Process {
			t.Errorf("the annotation of %s is %q, want process", p.Name, p.Annotations[runtime.Annotation])
		}
	}
	t.Run("what a Kustomization does is told to an Alert's receiver", func(t *testing.T) { testAlert(t, c) })
	t.Run("a build reads its artifact and nothing else", func(t *testing.T) { testRemoteContent(t, c) })
	t.Run("a HelmRelease installs a chart", func(t *testing.T) { testHelmRelease(t, c) })
	t.Run("a push reaches the cluster by a Receiver", func(t *testing.T) { testReceiver(t, c) })
	t.Run("a changed argument reaches the process", func(t *testing.T) { testArguments(t, c) })
	if !t.Failed() {
		// The kinds go first, while the controllers still remove the finalizers of their objects.
		rest := slices.DeleteFunc(slices.Clone(objects), isKind)
		c.remove(t, slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !isKind(o) }))
		c.remove(t, rest)
	}
}

func isKind(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" }

func testArguments(t *testing.T, c *cluster) {
	before := c.only(t, "kustomize-controller")
	args := c.arguments(t, before)
	if slices.Contains(args, "--no-cross-namespace-refs=true") {
		t.Fatalf("the installed arguments are %q", args)
	}
	deployments := c.AppsV1().Deployments(fluxNamespace)
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		d, err := deployments.Get(t.Context(), "kustomize-controller", metav1.GetOptions{})
		if err != nil {
			return err
		}
		manager := &d.Spec.Template.Spec.Containers[0]
		manager.Args = append(manager.Args, "--concurrent=7", "--no-cross-namespace-refs=true")
		_, err = deployments.Update(t.Context(), d, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	nodetest.Eventually(t, "the pod of the old arguments has no process", func() error {
		if left := c.processesOf(string(before.UID)); len(left) > 0 {
			return fmt.Errorf("there are %v", left)
		}
		return nil
	})
	c.waitAvailable(t, "kustomize-controller")
	args = c.arguments(t, c.only(t, "kustomize-controller"))
	for _, want := range []string{"--concurrent=7", "--no-cross-namespace-refs=true"} {
		if !slices.Contains(args, want) {
			t.Errorf("the running process has no %s: %q", want, args)
		}
	}
}

func TestAnUnknownTagShowsInThePod(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	made := c.create(t, ns, "old", corev1.PodSpec{Containers: nodetest.Containers("ghcr.io/fluxcd/source-controller:v0.0.1", "manager")})
	p := c.waitPod(t, ns, "old", "the pod says what is wrong", func(p *corev1.Pod) error {
		if !strings.Contains(p.Status.Message, "use the tag v") {
			return errors.New(nodetest.Describe(p.Status))
		}
		return nil
	})
	if w := p.Status.ContainerStatuses[0].State.Waiting; w == nil || w.Reason != "ErrImagePull" || !strings.Contains(w.Message, "v0.0.1") {
		t.Errorf("the container's state is %+v", p.Status.ContainerStatuses[0].State)
	}
	if e := c.event(t, ns, "old", "Failed"); !strings.Contains(e.Message, "v0.0.1") {
		t.Errorf("the event says %q", e.Message)
	}
	if n := len(c.processesOf(string(made.UID))); n != 0 {
		t.Errorf("the pod has %d processes", n)
	}
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.gone(t, ns, "old")
}

// installFlux applies Flux's own install manifests, as `flux install` generates them.
func (c *cluster) installFlux(t *testing.T, manifests string, components ...string) []*unstructured.Unstructured {
	t.Helper()
	// The generator writes to its base folder, so it gets a copy.
	base, err := manifestgen.MkdirTempAbs("", "strata-flux-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	if err := os.CopyFS(base, os.DirFS(manifests)); err != nil {
		t.Fatal(err)
	}
	options := install.MakeDefaultOptions()
	options.Version, options.Components, options.ComponentsExtra = "v2.9.4", components, nil
	manifest, err := install.Generate(options, base)
	if err != nil {
		t.Fatal(err)
	}
	return c.apply(t, manifest.Content)
}

// apply creates the objects of a manifest.
func (c *cluster) apply(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := ssautil.ReadObjects(strings.NewReader(manifest))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := c.any(t).Create(t.Context(), o); err != nil {
			t.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	return objects
}

// remove deletes objects and waits until they are gone.
func (c *cluster) remove(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if err := c.any(t).Delete(t.Context(), o); err != nil && !apierrors.IsNotFound(err) {
			t.Fatalf("delete %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	for _, o := range objects {
		nodetest.Eventually(t, o.GetKind()+" "+o.GetName()+" is gone", func() error {
			err := c.any(t).Get(t.Context(), client.ObjectKeyFromObject(o), o.DeepCopy())
			if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
				return nil
			}
			return fmt.Errorf("it is there: %w", err)
		})
	}
}

// any returns a client for objects of any kind.
func (c *cluster) any(t *testing.T) client.Client {
	t.Helper()
	api, err := client.New(c.config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func (c *cluster) waitAvailable(t *testing.T, name string) {
	t.Helper()
	nodetest.Eventually(t, name+" is available", func() error {
		d, err := c.AppsV1().Deployments(fluxNamespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == 1 && d.Status.Replicas == 1 {
			for _, condition := range d.Status.Conditions {
				if condition.Type == appsv1.DeploymentAvailable && condition.Status == corev1.ConditionTrue {
					return nil
				}
			}
		}
		return fmt.Errorf("its status is %+v", d.Status)
	})
}

// only returns the only pod of a controller that is not terminating.
func (c *cluster) only(t *testing.T, app string) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	nodetest.Eventually(t, app+" has one pod", func() error {
		list, err := c.CoreV1().Pods(fluxNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("it has %d", len(list.Items))
		}
		found = &list.Items[0]
		return nil
	})
	return found
}

// arguments returns the arguments of a pod's only running process.
func (c *cluster) arguments(t *testing.T, p *corev1.Pod) []string {
	t.Helper()
	for _, args := range c.processesOf(string(p.UID)) {
		if filepath.Base(args[0]) == p.Labels["app"] {
			return args[1:]
		}
	}
	t.Fatalf("pod %s has no process of %s", p.Name, p.Labels["app"])
	return nil
}

package simulated

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

func TestOnlyContainersThatKubernetesExpectsToCompleteDo(t *testing.T) {
	always, yes := corev1.ContainerRestartPolicyAlways, true
	job := func(o *corev1.Pod) {
		o.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "job", Controller: &yes}}
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		spec   corev1.Container
		init   bool
		want   bool
	}{
		"a container":                  {nil, corev1.Container{}, false, false},
		"an init container":            {nil, corev1.Container{}, true, true},
		"a sidecar":                    {nil, corev1.Container{RestartPolicy: &always}, true, false},
		"a container of a Job":         {job, corev1.Container{}, false, true},
		"an init container of a Job":   {job, corev1.Container{}, true, true},
		"a sidecar of a Job's own pod": {job, corev1.Container{RestartPolicy: &always}, true, false},
	} {
		object := nodetest.Pod(corev1.PodSpec{})
		if test.change != nil {
			test.change(object)
		}
		image, err := Runtime{}.Find(object, "nginx")
		if err != nil {
			t.Fatal(err)
		}
		started, err := image.Start(t.Context(), runtime.Container{
			Pod:  runtime.Pod{Object: object, Environment: environment.Resolver{Pod: func() *corev1.Pod { return object }}},
			Spec: &test.spec, Init: test.init,
		})
		if err != nil {
			t.Fatal(err)
		}
		done := false
		select {
		case <-started.Done():
			done = true
		default:
		}
		if done != test.want || started.Exit() != (runtime.Exit{}) {
			t.Errorf("%s: completed %v with %+v, want %v", name, done, started.Exit(), test.want)
		}
		started.Stop(0)
		started.Stop(0)
		select {
		case <-started.Done():
		default:
			t.Errorf("%s: Stop does not end the run", name)
		}
	}
}

package node

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/test/long"
)

// ended returns an error until the pod's container has ended once, with a reason.
func ended(reason string) func(p *corev1.Pod) error {
	return func(p *corev1.Pod) error {
		for _, s := range p.Status.ContainerStatuses {
			if t := s.State.Terminated; t != nil && t.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("%s", nodetest.Describe(p.Status))
	}
}

// evicted returns an error until the node has evicted the pod.
func evicted(p *corev1.Pod) error {
	if p.Status.Phase != corev1.PodFailed || p.Status.Reason != "Evicted" {
		return fmt.Errorf("%s", nodetest.Describe(p.Status))
	}
	return nil
}

// A bystander answers its liveness probe all the time. It does not restart while other pods do what they can.
func TestAHostilePodStopsNoOther(t *testing.T) {
	long.Test(t)
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	alive := &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 10, FailureThreshold: 3, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}}
	c.create(t, ns, "bystander", corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image, LivenessProbe: alive, ReadinessProbe: alive}}})
	bystander := c.waitPod(t, ns, "bystander", "it is ready", isReady)
	limit := func(memory, storage string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourceEphemeralStorage: resource.MustParse(storage)}}
	}
	service := c.service(t, ns, "bystander", corev1.ServiceSpec{Selector: map[string]string{"app": "bystander"}, Ports: port(80, intstr.FromInt32(8080))})
	sixteen := resource.MustParse("16Mi")
	for _, a := range []struct {
		name  string
		args  []string
		check func(p *corev1.Pod) error
		// says is a part of the log when the pod has reached its limit.
		says string
	}{
		{"forks", []string{"fork"}, ended("OOMKilled"), ""},
		{"fills", []string{"fill", "/big"}, succeeded, "full after"},
		{"prints", []string{"print"}, isReady, "0123456789abcdef"},
		{"fills-volume", []string{"files", "fill /data/big 100", "wait"}, evicted, ""},
		{"connects-to-service", []string{"connect", service.Spec.ClusterIP + ":80", "100000"}, isReady, "refused after"},
		{"connects", []string{"connect", bystander.Status.PodIP + ":8080", "100000"}, isReady, "refused after"},
	} {
		t.Run(a.name, func(t *testing.T) {
			c.create(t, ns, a.name, corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
				Name: "main", Image: image, Args: a.args, Resources: limit("256Mi", "64Mi"), VolumeMounts: []corev1.VolumeMount{mount("data", "/data", "")},
			}}, Volumes: []corev1.Volume{emptyDir("data", corev1.EmptyDirVolumeSource{SizeLimit: &sixteen})}})
			c.waitPod(t, ns, a.name, "its state", a.check)
			nodetest.Eventually(t, "the pod reaches its limit", func() error {
				if log := c.log(ns, a.name, "main"); !strings.Contains(log, a.says) {
					return fmt.Errorf("it printed %q", log)
				}
				return nil
			})
			c.waitPod(t, ns, "bystander", "it is ready", isReady)
			c.delete(t, ns, a.name)
		})
	}
	p := c.waitPod(t, ns, "bystander", "it is ready", isReady)
	if s := p.Status.ContainerStatuses[0]; s.RestartCount != 0 || p.Annotations[runtime.Annotation] != runtime.Sandboxed {
		t.Errorf("the bystander has restarted: %s", nodetest.Describe(p.Status))
	}
}

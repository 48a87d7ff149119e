package node

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/test/long"
)

func TestReplicasRunSideBySideBehindTheirService(t *testing.T) {
	long.Test(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	server := guest("serve")
	server.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: guestPort}}
	server.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("http")}}}
	replicas, one, none := int32(2), intstr.FromInt32(1), intstr.FromInt32(0)
	labels := map[string]string{"app": "servers"}
	deployments := c.AppsV1().Deployments(ns)
	if _, err := deployments.Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "servers"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &none}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{server}}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "servers"}, Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// rolledOut waits for the replicas of the newest template, and returns their names.
	rolledOut := func() map[string]bool {
		nodetest.Eventually(t, "all replicas are those of the template", func() error {
			d, err := deployments.Get(t.Context(), "servers", metav1.GetOptions{})
			if s := d.Status; err == nil && (s.ObservedGeneration != d.Generation || s.UpdatedReplicas != replicas || s.AvailableReplicas != replicas || s.Replicas != replicas) {
				err = fmt.Errorf("the status is %+v", s)
			}
			return err
		})
		list, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=servers"})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, p := range list.Items {
			if p.DeletionTimestamp == nil {
				names[p.Name] = true
			}
		}
		if len(names) != int(replicas) {
			t.Fatalf("there are the pods %v", names)
		}
		return names
	}
	first := rolledOut()
	c.create(t, ns, "client", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{guest("fetch-until", "http://servers."+ns+".svc/", "2")}})
	c.waitPod(t, ns, "client", "both have answered the client", inPhase(corev1.PodSucceeded))
	for name := range first {
		if said := c.log(ns, "client", "guest"); !strings.Contains(said, name+" was asked for /") {
			t.Errorf("%s has not answered: %s", name, said)
		}
	}

	if _, err := deployments.Patch(t.Context(), "servers", "application/merge-patch+json", []byte(`{"spec": {"template": {"metadata": {"annotations": {"try": "2"}}}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for name := range rolledOut() {
		if first[name] {
			t.Errorf("%s was not replaced", name)
		}
	}
	c.create(t, ns, "another", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{guest("fetch-until", "http://servers."+ns+".svc/", "2")}})
	c.waitPod(t, ns, "another", "both have answered the next client", inPhase(corev1.PodSucceeded))
}

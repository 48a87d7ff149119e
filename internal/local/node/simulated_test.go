package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "simulated"}},
		Spec:       corev1.PodSpec{Containers: containersNamed(image, "main")},
	}
}

func TestASimulatedDeploymentIsReadyAndSaysThatItIsSimulated(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	replicas := int32(2)
	_, err := c.AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "simulated"}}, Template: template("nginx")},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment is ready", func() error {
		d, err := c.AppsV1().Deployments(ns).Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && d.Status.ReadyReplicas != replicas {
			err = fmt.Errorf("%d of %d replicas are ready", d.Status.ReadyReplicas, replicas)
		}
		return err
	})
	pods, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Annotations[RuntimeAnnotation] != RuntimeSimulated || RuntimeAnnotation != "strata.dev/runtime" {
			t.Errorf("the annotation %s of %s is %q, want simulated", RuntimeAnnotation, p.Name, p.Annotations[RuntimeAnnotation])
		}
		if e := c.event(t, ns, p.Name, "Simulated"); !strings.Contains(e.Message, "simulated") {
			t.Errorf("the event says %q", e.Message)
		}
		if n := len(c.processesOf(string(p.UID))); n != 0 {
			t.Errorf("a simulated pod has %d processes", n)
		}
	}
}

func TestASimulatedStatefulSetSurvivesThatItsPodIsMadeAnew(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	_, err := c.AppsV1().StatefulSets(ns).Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec:       appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "simulated"}}, Template: template("mysql:8")},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first := c.waitPod(t, ns, "db-0", "the first pod is ready", isReady)
	// Without a grace period the object is gone at once, and the next of the name may come before this one has ended.
	now := int64(0)
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "db-0", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	c.waitPod(t, ns, "db-0", "a second pod is ready", func(p *corev1.Pod) error {
		if p.UID == first.UID {
			return errors.New("it is the first still")
		}
		return isReady(p)
	})
}

func TestASimulatedJobCompletes(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	job := template("busybox")
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	if _, err := c.BatchV1().Jobs(ns).Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: batchv1.JobSpec{Template: job}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Job is complete", func() error {
		j, err := c.BatchV1().Jobs(ns).Get(t.Context(), "once", metav1.GetOptions{})
		if err == nil && j.Status.CompletionTime == nil {
			err = fmt.Errorf("its status is %+v", j.Status)
		}
		return err
	})
}

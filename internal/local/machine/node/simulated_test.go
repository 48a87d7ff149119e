package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/provisioner"
)

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "simulated"}},
		Spec:       corev1.PodSpec{Containers: nodetest.Containers(image, "main")},
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
	nodetest.Eventually(t, "the Deployment is ready", func() error {
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
		if p.Annotations[runtime.Annotation] != runtime.Simulated || runtime.Annotation != "strata.dev/runtime" {
			t.Errorf("the annotation %s of %s is %q, want simulated", runtime.Annotation, p.Name, p.Annotations[runtime.Annotation])
		}
		if e := c.event(t, ns, p.Name, "Simulated"); !strings.Contains(e.Message, "simulated") {
			t.Errorf("the event says %q", e.Message)
		}
		if n := len(c.processesOf(string(p.UID))); n != 0 {
			t.Errorf("a simulated pod has %d processes", n)
		}
	}
}

func TestASimulatedStatefulSetSurvivesTheReplacementOfItsPod(t *testing.T) {
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
	// Without a grace period, the object disappears at once. The next pod of that name may start before this one has
	// ended.
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

func TestASimulatedStatefulSetHasOrdinalsAndVolumes(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	replicas := int32(2)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "simulated"}}, Template: template("mysql:8"),
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}},
	}}
	set.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/mysql"}}
	if _, err := c.AppsV1().StatefulSets(ns).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"db-0", "db-1"} {
		p := c.waitPod(t, ns, name, name+" is ready", isReady)
		if p.Annotations[runtime.Annotation] != runtime.Simulated {
			t.Errorf("the annotations of %s are %v", name, p.Annotations)
		}
		claim, err := c.CoreV1().PersistentVolumeClaims(ns).Get(t.Context(), "data-"+name, metav1.GetOptions{})
		if err != nil || claim.Status.Phase != corev1.ClaimBound || *claim.Spec.StorageClassName != provisioner.Class {
			t.Errorf("the claim of %s is %+v, %v", name, claim, err)
		}
	}
	nodetest.Eventually(t, "the StatefulSet is ready", func() error {
		s, err := c.AppsV1().StatefulSets(ns).Get(t.Context(), "db", metav1.GetOptions{})
		if err == nil && s.Status.ReadyReplicas != replicas {
			err = fmt.Errorf("%d of %d replicas are ready", s.Status.ReadyReplicas, replicas)
		}
		return err
	})
}

func TestASimulatedDaemonSetIsReady(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	if _, err := c.AppsV1().DaemonSets(ns).Create(t.Context(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "simulated"}}, Template: template("fluentd"),
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	nodetest.Eventually(t, "the DaemonSet is ready", func() error {
		d, err := c.AppsV1().DaemonSets(ns).Get(t.Context(), "agent", metav1.GetOptions{})
		if s := d.Status; err == nil && (s.DesiredNumberScheduled != 1 || s.NumberAvailable != 1) {
			err = fmt.Errorf("its status is %+v", s)
		}
		return err
	})
}

func TestASimulatedJobCompletes(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	completions, parallelism := int32(5), int32(2)
	spec := batchv1.JobSpec{Completions: &completions, Parallelism: &parallelism, Template: template("busybox")}
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	spec.Template.Spec.InitContainers = nodetest.Containers("busybox", "init")
	if _, err := c.BatchV1().Jobs(ns).Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "five"}, Spec: spec}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.BatchV1().CronJobs(ns).Create(t.Context(), &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "often"}, Spec: batchv1.CronJobSpec{
		Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: spec.Template}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The last schedule time is in the past, so that the test need not wait for the next minute.
	missed := fmt.Sprintf(`{"status": {"lastScheduleTime": %q}}`, time.Now().Add(-2*time.Minute).UTC().Format(time.RFC3339))
	if _, err := c.BatchV1().CronJobs(ns).Patch(t.Context(), "often", types.MergePatchType, []byte(missed), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	nodetest.Eventually(t, "the Job is complete", func() error {
		j, err := c.BatchV1().Jobs(ns).Get(t.Context(), "five", metav1.GetOptions{})
		if err == nil && (j.Status.CompletionTime == nil || j.Status.Succeeded != completions || j.Status.Failed != 0) {
			err = fmt.Errorf("its status is %+v", j.Status)
		}
		return err
	})
	pods, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=five"})
	if err != nil || len(pods.Items) != int(completions) {
		t.Fatalf("the Job has %d pods, %v", len(pods.Items), err)
	}
	for _, p := range pods.Items {
		if p.Status.Phase != corev1.PodSucceeded || p.Annotations[runtime.Annotation] != runtime.Simulated {
			t.Errorf("%s is %s, its annotations %v", p.Name, nodetest.Describe(p.Status), p.Annotations)
		}
	}
	nodetest.Eventually(t, "a Job of the CronJob has succeeded", func() error {
		j, err := c.BatchV1().CronJobs(ns).Get(t.Context(), "often", metav1.GetOptions{})
		if err == nil && j.Status.LastSuccessfulTime == nil {
			err = fmt.Errorf("its status is %+v", j.Status)
		}
		return err
	})
}

func TestASimulatedPodWaitsForItsReferences(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.configMap(t, ns, "settings", map[string]string{"colour": "green"})
	spec := corev1.PodSpec{Containers: nodetest.Containers("wordpress", "main")}
	spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "COLOUR", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "colour"}}},
		{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "database"}, Key: "password"}}},
	}
	addVolume(&spec, "certificate", "/etc/certificate", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "certificate"}})
	addVolume(&spec, "host", "/host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}})
	c.create(t, ns, "app", spec)
	waitsFor := func(what string) {
		t.Helper()
		// The watch notifies the node of the Secret at once. The node's own checks come at growing intervals.
		soon(t, "it waits for "+what, func() error {
			p, err := c.CoreV1().Pods(ns).Get(t.Context(), "app", metav1.GetOptions{})
			if err == nil && (len(p.Status.ContainerStatuses) == 0 || !isWaiting(p.Status.ContainerStatuses[0], "CreateContainerConfigError") ||
				!strings.Contains(p.Status.ContainerStatuses[0].State.Waiting.Message, what) || p.Status.Phase != corev1.PodPending) {
				err = errors.New(nodetest.Describe(p.Status))
			}
			return err
		})
	}
	waitsFor(`secrets "certificate" not found`)
	c.secret(t, ns, "certificate", nil)
	waitsFor(`secrets "database" not found`)
	c.secret(t, ns, "database", map[string]string{"user": "web"})
	waitsFor("Secret database has no key password")
	if _, err := c.CoreV1().Secrets(ns).Patch(t.Context(), "database", types.MergePatchType, []byte(`{"stringData": {"password": "x"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.waitPod(t, ns, "app", "it is ready", isReady)
}

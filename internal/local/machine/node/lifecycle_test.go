package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

// journal is a file in which guests record their start and their end.
type journal string

func newJournal(t *testing.T) journal {
	t.Helper()
	return journal(filepath.Join(t.TempDir(), "journal"))
}

// of returns a container that writes to the journal under a name and runs "once" or "forever".
func (j journal) of(name, how string) corev1.Container {
	c := guest("journal", string(j), name, how)
	c.Name = name
	return c
}

// until waits until the journal contains exactly these lines.
func (j journal) until(t *testing.T, want ...string) {
	t.Helper()
	nodetest.Eventually(t, fmt.Sprintf("the journal is %q", want), func() error {
		raw, err := os.ReadFile(string(j))
		if got := strings.Split(strings.TrimSpace(string(raw)), "\n"); err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("it is %q", got)
		}
		return err
	})
}

func TestSidecarsBeginInOrderAndEndLast(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns, j := c.namespace(t), newJournal(t)
	always := corev1.ContainerRestartPolicyAlways
	sidecar := func(name string) corev1.Container {
		side := j.of(name, "forever")
		side.RestartPolicy = &always
		side.StartupProbe = script(fmt.Sprintf("grep -q '%s begins' %s", name, j))
		side.StartupProbe.FailureThreshold = 60
		return side
	}
	c.create(t, ns, "crew", corev1.PodSpec{
		RestartPolicy:  corev1.RestartPolicyNever,
		InitContainers: []corev1.Container{sidecar("first"), j.of("init", "once"), sidecar("second")},
		Containers:     []corev1.Container{j.of("main", "once")},
	})
	j.until(t, "first begins", "init begins", "init ends", "second begins", "main begins", "main ends", "second ends", "first ends")
	p := c.waitPod(t, ns, "crew", "it has succeeded", inPhase(corev1.PodSucceeded))
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 || s.RestartCount != 0 {
			t.Errorf("the last word on %s is %+v", s.Name, s.State)
		}
	}
}

func TestSidecarsEndLastWhenAPodIsDeleted(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns, j := c.namespace(t), newJournal(t)
	always := corev1.ContainerRestartPolicyAlways
	side := j.of("side", "forever")
	side.RestartPolicy = &always
	side.StartupProbe = script(fmt.Sprintf("grep -q 'side begins' %s", j))
	c.create(t, ns, "crew", corev1.PodSpec{InitContainers: []corev1.Container{side}, Containers: []corev1.Container{j.of("main", "forever")}})
	j.until(t, "side begins", "main begins")
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "crew", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	j.until(t, "side begins", "main begins", "main ends", "side ends")
}

func TestHooksRunAfterTheStartAndBeforeTheEnd(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns, j := c.namespace(t), newJournal(t)
	run := func(text string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", text}}}
	}
	main := j.of("main", "forever")
	main.Lifecycle = &corev1.Lifecycle{
		PostStart: run(fmt.Sprintf("until grep -q begins %s; do :; done; echo hooked >> %s", j, j)),
		PreStop:   run(fmt.Sprintf("echo stopping >> %s; exit 3", j)),
	}
	c.create(t, ns, "hooked", corev1.PodSpec{Containers: []corev1.Container{main}})
	c.waitPod(t, ns, "hooked", "it is ready", isReady)
	j.until(t, "main begins", "hooked")
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "hooked", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	j.until(t, "main begins", "hooked", "stopping", "main ends")
	if e := c.event(t, ns, "hooked", "FailedPreStopHook"); !strings.Contains(e.Message, "exit status 3") {
		t.Errorf("the event says %q", e.Message)
	}

	broken := guest("report")
	broken.Lifecycle = &corev1.Lifecycle{PostStart: run("echo no luck; exit 1")}
	c.create(t, ns, "broken", corev1.PodSpec{Containers: []corev1.Container{broken}})
	c.waitPod(t, ns, "broken", "it is started again", func(p *corev1.Pod) error {
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].RestartCount == 0 {
			return errors.New(nodetest.Describe(p.Status))
		}
		return nil
	})
	if e := c.event(t, ns, "broken", "FailedPostStartHook"); !strings.Contains(e.Message, "no luck") {
		t.Errorf("the event says %q", e.Message)
	}
}

func TestAPodEndsAtItsActiveDeadline(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	second := int64(1)
	simulated := nodetest.Containers("nginx", "main")
	for name, containers := range map[string][]corev1.Container{"process": {guest("report")}, "simulated": simulated} {
		c.create(t, ns, name, corev1.PodSpec{ActiveDeadlineSeconds: &second, Containers: containers})
	}
	c.create(t, ns, "hurried", corev1.PodSpec{Containers: []corev1.Container{guest("report")}})
	c.waitPod(t, ns, "hurried", "it is ready", isReady)
	if _, err := c.CoreV1().Pods(ns).Patch(t.Context(), "hurried", "application/merge-patch+json", []byte(`{"spec": {"activeDeadlineSeconds": 1}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"process", "simulated", "hurried"} {
		p := c.waitPod(t, ns, name, "it has failed", inPhase(corev1.PodFailed))
		if p.Status.Reason != "DeadlineExceeded" || p.Status.Message == "" {
			t.Errorf("%s: the status is %s", name, nodetest.Describe(p.Status))
		}
		if left := c.processesOf(string(p.UID)); len(left) > 0 {
			t.Errorf("%s: there are %v", name, left)
		}
	}
}

func TestAPodThatEndsBeforeItRanHasNotSucceeded(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	needy := nodetest.Containers("busybox", "main")
	needy[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "never"}}}}
	none := int32(0)
	if _, err := c.BatchV1().Jobs(ns).Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "needy"}, Spec: batchv1.JobSpec{
		BackoffLimit: &none, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: needy}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var pod string
	nodetest.Eventually(t, "the Job's pod waits for the Secret", func() error {
		list, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		for _, p := range list.Items {
			if pod = p.Name; len(p.Status.ContainerStatuses) == 1 && isWaiting(p.Status.ContainerStatuses[0], "CreateContainerConfigError") {
				return err
			}
		}
		return fmt.Errorf("there are %d pods: %w", len(list.Items), err)
	})
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	nodetest.Eventually(t, "the Job has failed", func() error {
		job, err := c.BatchV1().Jobs(ns).Get(t.Context(), "needy", metav1.GetOptions{})
		if err == nil && (job.Status.Failed != 1 || job.Status.Succeeded != 0) {
			err = fmt.Errorf("its status is %+v", job.Status)
		}
		return err
	})
}

func TestAPodIsThereUntilItsInitContainerHasEnded(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	grace := int64(3)
	init := guest("stubborn")
	init.Name = "init"
	made := c.create(t, ns, "stubborn", corev1.PodSpec{TerminationGracePeriodSeconds: &grace, InitContainers: []corev1.Container{init}, Containers: []corev1.Container{guest("report")}})
	nodetest.Eventually(t, "the guest ignores SIGTERM", func() error {
		if !strings.Contains(c.log(ns, "stubborn", "init"), "ready") {
			return errors.New("it is not ready")
		}
		return nil
	})
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "stubborn", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.gone(t, ns, "stubborn")
	// The process ends before the object disappears, so that a new pod of the same name can rely on that.
	if left := c.processesOf(string(made.UID)); len(left) > 0 {
		t.Errorf("the object is gone, there are %v", left)
	}
}

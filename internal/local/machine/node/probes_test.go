package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

// script returns a probe that runs a shell script every second. One failure suffices.
func script(text string) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", text}}}, PeriodSeconds: 1, FailureThreshold: 1}
}

func TestAFailedLivenessProbeRestartsAContainer(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	sick := guest("report")
	sick.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "echo unwell; exit 1"}}}, PeriodSeconds: 1, FailureThreshold: 2}
	c.create(t, ns, "sick", corev1.PodSpec{Containers: []corev1.Container{sick}})
	c.waitPod(t, ns, "sick", "it was restarted", func(p *corev1.Pod) error {
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].RestartCount == 0 {
			return errors.New(nodetest.Describe(p.Status))
		}
		return nil
	})
	if e := c.event(t, ns, "sick", "Unhealthy"); !strings.Contains(e.Message, "unwell") {
		t.Errorf("the event does not say what the probe said: %s", e.Message)
	}
}

func TestAPodIsReadyAsLongAsItsReadinessProbePasses(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	marker := filepath.Join(t.TempDir(), "ready")
	moody := guest("report")
	moody.ReadinessProbe = script("test -e " + marker)
	c.create(t, ns, "moody", corev1.PodSpec{Containers: []corev1.Container{moody}})
	notReady := func(p *corev1.Pod) error {
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].State.Running == nil || nodetest.Condition(p.Status, corev1.ContainersReady) != "False" {
			return errors.New(nodetest.Describe(p.Status))
		}
		return nil
	}
	p := c.waitPod(t, ns, "moody", "it runs and is not ready", notReady)
	c.event(t, ns, "moody", "Unhealthy")
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady && (condition.Reason != "ContainersNotReady" || condition.Message != "containers with unready status: [guest]") {
			t.Errorf("the condition is %+v", condition)
		}
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.waitPod(t, ns, "moody", "it is ready", isReady)
	if err := os.Remove(marker); err != nil {
		t.Fatal(err)
	}
	p = c.waitPod(t, ns, "moody", "it is not ready any more", notReady)
	if p.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("it was restarted: %s", nodetest.Describe(p.Status))
	}
}

func TestAContainerHasStartedWhenItsStartupProbeHasPassed(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	marker := filepath.Join(t.TempDir(), "started")
	slow, late := guest("report"), guest("report")
	slow.StartupProbe, slow.LivenessProbe = script("test -e "+marker), script("test -e "+marker)
	slow.StartupProbe.FailureThreshold = 600
	late.StartupProbe = script("echo not yet; exit 1")
	c.create(t, ns, "slow", corev1.PodSpec{Containers: []corev1.Container{slow}})
	c.create(t, ns, "late", corev1.PodSpec{Containers: []corev1.Container{late}})
	// While slow starts, the node restarts late twice. In that time, slow's liveness probe would have failed too.
	c.waitPod(t, ns, "late", "it is started again", func(p *corev1.Pod) error {
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].RestartCount < 2 {
			return errors.New(nodetest.Describe(p.Status))
		}
		return nil
	})
	if e := c.event(t, ns, "late", "Unhealthy"); !strings.Contains(e.Message, "startup probe failed: exit status 1: not yet") {
		t.Errorf("the event says %q", e.Message)
	}
	p := c.waitPod(t, ns, "slow", "it runs", inPhase(corev1.PodRunning))
	if s := p.Status.ContainerStatuses[0]; *s.Started || s.Ready || s.RestartCount != 0 {
		t.Errorf("before its startup probe has passed its status is %+v", s)
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.waitPod(t, ns, "slow", "it is ready", isReady)
}

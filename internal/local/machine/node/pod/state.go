package pod

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/logs"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// set changes the container's state and publishes the pod's status.
func (c *container) set(change func()) {
	c.pod.mu.Lock()
	change()
	if c.started {
		c.isUp()
	}
	c.pod.mu.Unlock()
	c.pod.publish()
}

// waiting records that the container waits, with a reason of the kubelet's.
func (c *container) waiting(reason, message string) {
	c.set(func() {
		c.ready = false
		c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
}

// begun records the start of a run.
func (c *container) begun(at time.Time) {
	c.set(func() {
		c.started = c.spec.StartupProbe == nil
		c.ready = c.started && c.spec.ReadinessProbe == nil
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}}
	})
}

// terminated records the end of a run that began at a time.
func (c *container) terminated(began time.Time, exit runtime.Exit) {
	t := &corev1.ContainerStateTerminated{
		Reason: "Completed", ExitCode: int32(exit.Code), Signal: int32(exit.Signal), StartedAt: metav1.NewTime(began), FinishedAt: metav1.Now(),
	}
	if t.ExitCode != 0 {
		t.Reason, t.Message = "Error", logs.Tail(c.log())
	}
	if exit.Reason != "" {
		t.Reason = exit.Reason
	}
	if exit.Message != "" {
		t.Message = exit.Message
	}
	c.finish(t)
}

// neverRan records the end of a container whose pod ended before the container's first run, and returns the exit code.
// The status is the kubelet's, so that the pod does not count as successful.
func (c *container) neverRan() int {
	c.finish(&corev1.ContainerStateTerminated{
		Reason: "ContainerStatusUnknown", ExitCode: killedCode, Message: "the pod was ended before the container ran", FinishedAt: metav1.Now(),
	})
	return killedCode
}

// finish records that no program of the container runs.
func (c *container) finish(t *corev1.ContainerStateTerminated) {
	c.set(func() {
		c.ready, c.started = false, false
		c.state = corev1.ContainerState{Terminated: t}
	})
}

// killedCode is the exit code of a program that SIGKILL ended: 128 plus 9.
const killedCode = 137

// crashed records the wait for the next run after the end of a run. why is the error of the ended run, or nil.
func (c *container) crashed(why error, delay time.Duration) {
	message := fmt.Sprintf("back-off %s restarting container %s of pod %s", delay, c.spec.Name, c.pod.Object().Name)
	if why != nil {
		message += ": " + why.Error()
	}
	c.set(func() {
		c.last, c.restarts = c.state, c.restarts+1
		if delay > 0 {
			c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: message}}
		}
	})
	if delay > 0 {
		c.pod.event(corev1.EventTypeWarning, "BackOff", "%s", message)
	}
}

// restore restores the container's state from the pod's status in the API server, because a pod outlives a restart of
// the node, unlike its programs. A container that has ended for good does not run again.
func (c *container) restore() {
	status := c.pod.object.Status
	for _, s := range slices.Concat(status.ContainerStatuses, status.InitContainerStatuses) {
		if s.Name != c.spec.Name {
			continue
		}
		c.restarts, c.last = s.RestartCount, s.LastTerminationState
		if !c.choice.Runtime.Executes() {
			continue
		}
		was := s.State
		if was.Running != nil {
			was = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Reason: "NodeRestarted", ExitCode: killedCode, Message: "the node was restarted", StartedAt: was.Running.StartedAt, FinishedAt: metav1.Now(),
			}}
		}
		switch {
		case was.Terminated == nil || c.init && was.Terminated.ExitCode == 0:
			// Init containers run again to restore what the volumes have lost.
		case c.again(int(was.Terminated.ExitCode)):
			c.restarts, c.last = c.restarts+1, was
		default:
			c.state = was
		}
	}
}

package node

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func (c *container) waiting(reason, message string) {
	c.set(func() {
		c.ready = false
		c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
}

// begun records the start of a run.
func (c *container) begun(r *running) {
	c.set(func() {
		c.started = c.spec.StartupProbe == nil
		c.ready = c.started && c.spec.ReadinessProbe == nil
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(r.began)}}
	})
}

// terminated records the end of a run and returns the exit code. r is nil if the container never ran.
func (c *container) terminated(r *running) int {
	t := &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now()}
	switch {
	case r == nil:
		// The kubelet reports the same status, so that nobody takes the pod for a successful one.
		t.ExitCode, t.Reason, t.Message = killedCode, "ContainerStatusUnknown", "the pod was ended before the container ran"
	case r.process != nil:
		t.StartedAt, t.ExitCode, t.Signal = metav1.NewTime(r.began), int32(r.process.ExitCode()), int32(r.process.Signal())
		if t.ExitCode != 0 {
			t.Reason, t.Message = "Error", c.lastWords()
		}
	default:
		t.StartedAt = metav1.NewTime(r.began)
	}
	c.set(func() {
		c.ready, c.started = false, false
		c.state = corev1.ContainerState{Terminated: t}
	})
	return int(t.ExitCode)
}

// killedCode is the exit code of a killed program.
const killedCode = 137

// crashed records the end of a run and the wait for the next run. why is the error of the ended run.
func (c *container) crashed(why error, delay time.Duration) {
	message := fmt.Sprintf("back-off %s restarting container %s of pod %s", delay, c.spec.Name, c.pod.current().Name)
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

// restore restores the container's state from the pod's status in the API server. A pod outlives a restart of the
// node; its processes do not. A container that has ended for good does not run again.
func (c *container) restore() {
	status := c.pod.object.Status
	for _, s := range slices.Concat(status.ContainerStatuses, status.InitContainerStatuses) {
		if s.Name != c.spec.Name {
			continue
		}
		c.restarts, c.last = s.RestartCount, s.LastTerminationState
		if c.image == nil {
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

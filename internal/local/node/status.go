package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// publish tells the API server how the pod is. What is computed first is told first, or the last word would be a stale one.
func (p *pod) publish() {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	p.mu.Lock()
	object := p.object.DeepCopy()
	object.Status = p.status()
	p.object = object
	p.mu.Unlock()
	p.node.notify(object.DeepCopy())
}

// status computes the pod's status from its containers. The caller holds the lock.
func (p *pod) status() corev1.PodStatus {
	old := p.object.Status
	s := corev1.PodStatus{
		Phase:                 p.phase(),
		HostIP:                loopback,
		HostIPs:               []corev1.HostIP{{IP: loopback}},
		StartTime:             old.StartTime,
		QOSClass:              old.QOSClass,
		ContainerStatuses:     statuses(p.containers),
		InitContainerStatuses: statuses(p.inits),
		ObservedGeneration:    p.object.Generation,
		// There is no pod IP: all pods share the loopback interface, and a loopback address is not valid in an EndpointSlice.
	}
	if s.StartTime == nil {
		now := metav1.Now()
		s.StartTime = &now
	}
	if p.failure != "" {
		s.Reason, s.Message = "ImageNotInCatalogue", p.failure
	}
	ended := s.Phase == corev1.PodSucceeded || s.Phase == corev1.PodFailed
	initialized, ready := p.initialized(), !ended && !p.finished
	for _, c := range p.containers {
		ready = ready && c.ready
	}
	for _, c := range p.inits {
		if c.spec.RestartPolicy != nil {
			ready = ready && c.ready
		}
	}
	s.Conditions = []corev1.PodCondition{
		condition(old, corev1.PodScheduled, true, ""),
		condition(old, corev1.PodInitialized, initialized, "ContainersNotInitialized"),
		condition(old, corev1.ContainersReady, ready, "ContainersNotReady"),
		condition(old, corev1.PodReady, ready, "ContainersNotReady"),
	}
	return s
}

// phase is the pod's phase (Kubernetes, "Pod Lifecycle").
func (p *pod) phase() corev1.PodPhase {
	ended, failed := p.failure == "", false
	for _, c := range p.containers {
		t := c.state.Terminated
		ended = ended && c.ended
		failed = failed || t != nil && t.ExitCode != 0
	}
	switch {
	case ended && failed:
		return corev1.PodFailed
	case ended:
		return corev1.PodSucceeded
	}
	if p.finished && p.initFailed() {
		return corev1.PodFailed
	}
	if !p.initialized() {
		return corev1.PodPending
	}
	for _, c := range p.containers {
		if c.state.Running != nil || c.restarts > 0 {
			return corev1.PodRunning
		}
	}
	return corev1.PodPending
}

func (p *pod) initFailed() bool {
	for _, c := range p.inits {
		if t := c.state.Terminated; t != nil && t.ExitCode != 0 {
			return true
		}
	}
	return false
}

func (p *pod) initialized() bool {
	for _, c := range p.inits {
		sidecar := c.spec.RestartPolicy != nil
		if sidecar && !c.started || !sidecar && (c.state.Terminated == nil || c.state.Terminated.ExitCode != 0) {
			return false
		}
	}
	return true
}

func statuses(containers []*container) []corev1.ContainerStatus {
	list := make([]corev1.ContainerStatus, len(containers))
	for i, c := range containers {
		started := c.started
		list[i] = corev1.ContainerStatus{
			Name:                 c.spec.Name,
			Image:                c.spec.Image,
			ImageID:              "strata.dev/" + c.runtime(),
			State:                c.state,
			LastTerminationState: c.last,
			RestartCount:         c.restarts,
			Ready:                c.ready,
			Started:              &started,
		}
	}
	return list
}

func (c *container) runtime() string {
	if c.image == nil {
		return RuntimeSimulated
	}
	return RuntimeProcess
}

func condition(old corev1.PodStatus, kind corev1.PodConditionType, ok bool, reason string) corev1.PodCondition {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now())}
	if !ok {
		c.Status, c.Reason = corev1.ConditionFalse, reason
	}
	for _, was := range old.Conditions {
		if was.Type == kind && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
	}
	return c
}

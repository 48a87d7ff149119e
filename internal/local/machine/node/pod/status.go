package pod

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// publish sends the pod's status to the API server. The lock publishing keeps the order, so that a stale status never
// overwrites a newer one.
func (p *Pod) publish() {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	p.mu.Lock()
	object := p.object.DeepCopy()
	object.Status = p.status()
	p.object = object
	p.mu.Unlock()
	p.host.Notify(object.DeepCopy())
}

// status computes the pod's status from its containers. The caller must hold the lock.
func (p *Pod) status() corev1.PodStatus {
	old := p.object.Status
	s := corev1.PodStatus{
		Phase:                 p.phase(),
		HostIP:                p.host.IP.String(),
		HostIPs:               []corev1.HostIP{{IP: p.host.IP.String()}},
		StartTime:             old.StartTime,
		QOSClass:              old.QOSClass,
		ContainerStatuses:     statuses(p.containers),
		InitContainerStatuses: statuses(p.inits),
		ObservedGeneration:    p.object.Generation,

		EphemeralContainerStatuses: statuses(p.ephemerals.list),
	}
	if p.ip.IsValid() {
		s.PodIP, s.PodIPs = p.ip.String(), []corev1.PodIP{{IP: p.ip.String()}}
	}
	if s.StartTime == nil {
		now := metav1.Now()
		s.StartTime = &now
	}
	// The pod's reason shows in lists of pods, where the reason of a container's state does not.
	for _, c := range p.all() {
		if c.choice.Err != nil {
			s.Reason, s.Message = "ImageNotInCatalogue", c.choice.Err.Error()
		}
	}
	if p.exceeded {
		s.Reason, s.Message = reasonDeadline, messageDeadline
	}
	if p.evicted != "" {
		s.Reason, s.Message = reasonEvicted, p.evicted
	}
	s.Conditions = p.conditions(old, s.Phase)
	return s
}

// conditions returns the conditions of a pod in a phase. old is the last published status.
func (p *Pod) conditions(old corev1.PodStatus, phase corev1.PodPhase) []corev1.PodCondition {
	uninitialized, unready := p.uninitialized(), p.unready()
	initialized := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if len(uninitialized) > 0 {
		initialized = isFalse(corev1.PodInitialized, "ContainersNotInitialized", "containers with incomplete status: %v", uninitialized)
	}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	switch {
	case phase == corev1.PodSucceeded:
		initialized.Reason = reasonCompleted
		ready = corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reasonCompleted}
	case phase == corev1.PodFailed:
		ready = corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodFailed"}
	case len(unready) > 0:
		ready = isFalse(corev1.PodReady, "ContainersNotReady", "containers with unready status: %v", unready)
	}
	containers := ready
	containers.Type = corev1.ContainersReady
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}
	list := []corev1.PodCondition{scheduled, initialized, containers, ready}
	for i := range list {
		list[i].ObservedGeneration = p.object.Generation
		list[i].LastTransitionTime = metav1.NewTime(time.Now())
		for _, before := range old.Conditions {
			if before.Type == list[i].Type && before.Status == list[i].Status {
				list[i].LastTransitionTime = before.LastTransitionTime
			}
		}
	}
	return list
}

// reasonCompleted is the kubelet's reason for the conditions of a pod that has succeeded.
const reasonCompleted = "PodCompleted"

// isFalse returns a false condition whose message contains the names of containers.
func isFalse(kind corev1.PodConditionType, reason, format string, containers []string) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, containers)}
}

// phase returns the pod's phase (Kubernetes, "Pod Lifecycle"). It returns a final phase only after all containers have
// ended.
func (p *Pod) phase() corev1.PodPhase {
	if p.finished {
		for _, c := range p.containers {
			if t := c.state.Terminated; t == nil || t.ExitCode != 0 || p.exceeded || p.evicted != "" {
				return corev1.PodFailed
			}
		}
		return corev1.PodSucceeded
	}
	// As in the kubelet, a pod is pending while one of its containers waits for its first start.
	if slices.ContainsFunc(p.containers, func(c *container) bool { return !c.hasRun() }) {
		return corev1.PodPending
	}
	return corev1.PodRunning
}

// hasRun reports whether the container has run. The caller must hold the lock.
func (c *container) hasRun() bool { return c.state.Waiting == nil || c.restarts > 0 }

// uninitialized returns the names of the init containers that the containers still wait for.
func (p *Pod) uninitialized() []string {
	if slices.ContainsFunc(p.containers, (*container).hasRun) {
		return nil
	}
	var names []string
	for _, c := range p.inits {
		t := c.state.Terminated
		if c.isSidecar() && !c.started || !c.isSidecar() && (t == nil || t.ExitCode != 0) {
			names = append(names, c.spec.Name)
		}
	}
	return names
}

// unready returns the names of the containers and sidecars that are not ready.
func (p *Pod) unready() []string {
	var names []string
	for _, c := range p.all() {
		if !c.ready && (!c.init || c.isSidecar()) {
			names = append(names, c.spec.Name)
		}
	}
	return names
}

// imageID returns the ID of the container's image.
func (c *container) imageID() string {
	if c.run != nil {
		return c.run.ImageID()
	}
	return runtime.ImageID(c.choice.Runtime.Name())
}

// statuses returns the statuses of containers. The caller must hold the lock.
func statuses(containers []*container) []corev1.ContainerStatus {
	list := make([]corev1.ContainerStatus, len(containers))
	for i, c := range containers {
		started := c.started
		list[i] = corev1.ContainerStatus{
			Name:                 c.spec.Name,
			Image:                c.name,
			ImageID:              c.imageID(),
			State:                c.state,
			LastTerminationState: c.last,
			RestartCount:         c.restarts,
			// A completed init container is ready, as in the kubelet.
			Ready:   c.ready && !c.ephemeral || c.init && !c.isSidecar() && c.state.Terminated != nil && c.state.Terminated.ExitCode == 0,
			Started: &started,
		}
	}
	return list
}

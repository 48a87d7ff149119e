package node

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestRestart(t *testing.T) {
	for _, test := range []struct {
		policy corev1.RestartPolicy
		code   int
		want   bool
	}{
		{corev1.RestartPolicyAlways, 0, true},
		{corev1.RestartPolicyAlways, 1, true},
		{corev1.RestartPolicyOnFailure, 0, false},
		{corev1.RestartPolicyOnFailure, 137, true},
		{corev1.RestartPolicyNever, 0, false},
		{corev1.RestartPolicyNever, 1, false},
	} {
		p := newPod(newTestNode(t), aPod(corev1.PodSpec{RestartPolicy: test.policy, Containers: containersNamed("example.com/program:v1", "a")}))
		if got := p.containers[0].again(test.code); got != test.want {
			t.Errorf("policy %s, exit code %d: restart is %v, want %v", test.policy, test.code, got, test.want)
		}
	}
}

func TestStatus(t *testing.T) {
	const image = "example.com/program:v1"
	always := corev1.ContainerRestartPolicyAlways
	sidecar := containersNamed(image, "sidecar")
	sidecar[0].RestartPolicy = &always
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for name, test := range map[string]struct {
		inits, containers  []corev1.Container
		change             func(p *pod)
		phase              corev1.PodPhase
		initialized, ready string
	}{
		"a new pod is pending": {
			containers: containersNamed(image, "a"), phase: corev1.PodPending, initialized: "True", ready: "False",
		},
		"a running pod is not ready before its container": {
			containers: containersNamed(image, "a"), phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *pod) { p.containers[0].state = isRunning() },
		},
		"a pod is ready with all its containers": {
			containers: containersNamed(image, "a", "b"), phase: corev1.PodRunning, initialized: "True", ready: "True",
			change: func(p *pod) {
				for _, c := range p.containers {
					c.state, c.ready = isRunning(), true
				}
			},
		},
		"one container that is not ready holds the pod back": {
			containers: containersNamed(image, "a", "b"), phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *pod) {
				p.containers[0].state, p.containers[0].ready = isRunning(), true
				p.containers[1].state = isRunning()
			},
		},
		"a crash loop is running, not ready": {
			containers: containersNamed(image, "a"), phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *pod) { p.containers[0].state, p.containers[0].restarts = waiting, 3 },
		},
		"all ended well is succeeded": {
			containers: containersNamed(image, "a", "b"), phase: corev1.PodSucceeded, initialized: "True", ready: "False",
			change: func(p *pod) {
				for _, c := range p.containers {
					c.state, c.ended = terminated(0), true
				}
				p.finished = true
			},
		},
		"one that failed makes a failed pod once all ended": {
			containers: containersNamed(image, "a", "b"), phase: corev1.PodFailed, initialized: "True", ready: "False",
			change: func(p *pod) {
				for i, c := range p.containers {
					c.state, c.ended = terminated(int32(i)), true
				}
				p.finished = true
			},
		},
		"a pod is running until its sidecars have ended": {
			inits: sidecar, containers: containersNamed(image, "a"),
			phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *pod) {
				p.inits[0].state, p.inits[0].ended = terminated(0), true
				p.containers[0].state, p.containers[0].ended = terminated(0), true
			},
		},
		"a sidecar that was ended does not fail the pod": {
			inits: sidecar, containers: containersNamed(image, "a"),
			phase: corev1.PodSucceeded, initialized: "True", ready: "False",
			change: func(p *pod) {
				p.inits[0].state, p.containers[0].state, p.finished = terminated(143), terminated(0), true
			},
		},
		"a pod that ended before it ran has failed": {
			containers: containersNamed(image, "a"), phase: corev1.PodFailed, initialized: "True", ready: "False",
			change: func(p *pod) { p.finished = true },
		},
		"a pod that outlived its deadline has failed": {
			containers: containersNamed(image, "a"), phase: corev1.PodFailed, initialized: "True", ready: "False",
			change: func(p *pod) { p.containers[0].state, p.exceeded, p.finished = terminated(0), true, true },
		},
		"one that failed is running while the other runs": {
			containers: containersNamed(image, "a", "b"), phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *pod) {
				p.containers[0].state, p.containers[0].ended = terminated(1), true
				p.containers[1].state, p.containers[1].ready = isRunning(), true
			},
		},
		"an init container that runs keeps the pod pending": {
			inits: containersNamed(image, "init"), containers: containersNamed(image, "a"),
			phase: corev1.PodPending, initialized: "False", ready: "False",
			change: func(p *pod) { p.inits[0].state = isRunning() },
		},
		"an init container that failed for good fails the pod": {
			inits: containersNamed(image, "init"), containers: containersNamed(image, "a"),
			phase: corev1.PodFailed, initialized: "False", ready: "False",
			change: func(p *pod) { p.inits[0].state, p.finished = terminated(1), true },
		},
		"a sidecar that has started lets the pod run": {
			inits: sidecar, containers: containersNamed(image, "a"),
			phase: corev1.PodRunning, initialized: "True", ready: "True",
			change: func(p *pod) {
				p.inits[0].state, p.inits[0].started, p.inits[0].ready = isRunning(), true, true
				p.containers[0].state, p.containers[0].ready = isRunning(), true
			},
		},
		"an image that is not there keeps the pod pending": {
			containers: containersNamed("example.com/program:v2", "a"), phase: corev1.PodPending, initialized: "True", ready: "False",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(newTestNode(t), aPod(corev1.PodSpec{InitContainers: test.inits, Containers: test.containers}))
			if test.change != nil {
				test.change(p)
			}
			status := p.status()
			if status.Phase != test.phase {
				t.Errorf("the phase is %s, want %s", status.Phase, test.phase)
			}
			if got := conditionOf(status, corev1.PodInitialized); got != test.initialized {
				t.Errorf("Initialized is %s, want %s", got, test.initialized)
			}
			if got := conditionOf(status, corev1.PodReady); got != test.ready {
				t.Errorf("Ready is %s, want %s", got, test.ready)
			}
			if got := conditionOf(status, corev1.ContainersReady); got != test.ready {
				t.Errorf("ContainersReady is %s, want %s", got, test.ready)
			}
		})
	}
}

func TestConditionKeepsTheTimeOfItsLastChange(t *testing.T) {
	p := newPod(newTestNode(t), aPod(corev1.PodSpec{Containers: containersNamed("example.com/program:v1", "a")}))
	p.publish()
	first := p.current().Status
	p.containers[0].state, p.containers[0].ready = isRunning(), true
	p.publish()
	for i, c := range p.current().Status.Conditions {
		same := c.LastTransitionTime.Equal(&first.Conditions[i].LastTransitionTime)
		if changed := c.Status != first.Conditions[i].Status; changed == same {
			t.Errorf("%s changed: %v, but its time stayed: %v", c.Type, changed, same)
		}
	}
}

func TestAPodGoesOnAfterTheNodeWasRestarted(t *testing.T) {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for name, test := range map[string]struct {
		policy   corev1.RestartPolicy
		was      corev1.ContainerState
		restarts int32 // two restarts before this one
		last     string
		ended    bool
	}{
		"what ran is started again":                        {corev1.RestartPolicyAlways, isRunning(), 3, "NodeRestarted", false},
		"what ran and may run once only has ended":         {corev1.RestartPolicyNever, isRunning(), 2, "", true},
		"what had succeeded has ended":                     {corev1.RestartPolicyOnFailure, terminated(0), 2, "", true},
		"what had failed is started again":                 {corev1.RestartPolicyOnFailure, terminated(1), 3, "", false},
		"what had failed and may run once only has ended":  {corev1.RestartPolicyNever, terminated(1), 2, "", true},
		"what waited for its next start is started":        {corev1.RestartPolicyAlways, waiting, 2, "", false},
		"what waited for its first start may still run":    {corev1.RestartPolicyNever, waiting, 2, "", false},
		"what was asked for but never reported is started": {corev1.RestartPolicyNever, corev1.ContainerState{}, 2, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			object := aPod(corev1.PodSpec{RestartPolicy: test.policy, Containers: containersNamed("example.com/program:v1", "a")})
			object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", RestartCount: 2, State: test.was}}
			c := newPod(newTestNode(t), object).containers[0]
			if ended := c.state.Terminated != nil; c.restarts != test.restarts || ended != test.ended {
				t.Errorf("there are %d restarts, ended: %v, want %d, %v", c.restarts, ended, test.restarts, test.ended)
			}
			if test.last != "" && (c.last.Terminated == nil || c.last.Terminated.Reason != test.last) {
				t.Errorf("the last end is %+v, want %s", c.last, test.last)
			}
		})
	}
}

func TestTheFirstWordOnAProcessIsThatItDoesNotRunYet(t *testing.T) {
	n := newTestNode(t)
	n.catalogue[0].Program = func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	said := make(chan *corev1.Pod, 100)
	n.notify = func(p *corev1.Pod) { said <- p }
	object := aPod(corev1.PodSpec{Containers: containersNamed("example.com/program:v1", "a")})
	object.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	p := newPod(n, object)
	p.start()
	defer p.stop()
	select {
	case first := <-said:
		if conditionOf(first.Status, corev1.PodReady) != "False" {
			t.Errorf("the first word is that the pod is ready: %s", describe(first.Status))
		}
	case <-time.After(patience):
		t.Error("nothing is said of the pod")
	}
}

func TestInitContainersRunAgainAfterTheNodeWasRestarted(t *testing.T) {
	object := aPod(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, InitContainers: containersNamed("example.com/program:v1", "done", "failed"), Containers: containersNamed("example.com/program:v1", "a")})
	object.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "done", State: terminated(0)}, {Name: "failed", State: terminated(1)}}
	p := newPod(newTestNode(t), object)
	if p.inits[0].state.Terminated != nil || p.inits[1].state.Terminated == nil {
		t.Errorf("their states are %+v, %+v", p.inits[0].state, p.inits[1].state)
	}
}

func TestServesOnlyThePortThatAServiceMeans(t *testing.T) {
	p := newPod(newTestNode(t), aPod(corev1.PodSpec{Containers: []corev1.Container{{
		Name: "a", Image: "example.com/program:v1",
		Ports: []corev1.ContainerPort{{ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
	}}}))
	c := p.containers[0]
	c.ports = map[int32]int{9999: 12345}
	ports := servicePorts()
	for name := range ports {
		if c.serves(ports[name].port) {
			t.Errorf("a container that is not ready serves %s", name)
		}
	}
	c.ready = true
	for name, test := range ports {
		if got := c.serves(test.port); got != test.want {
			t.Errorf("serves %s is %v, want %v", name, got, test.want)
		}
	}
}

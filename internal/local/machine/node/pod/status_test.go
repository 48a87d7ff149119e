package pod

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
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
		p := New(newHost(t), nodetest.Pod(corev1.PodSpec{RestartPolicy: test.policy, Containers: nodetest.Containers("example.com/program:v1", "a")}))
		if got := p.containers[0].again(test.code); got != test.want {
			t.Errorf("policy %s, exit code %d: restart is %v, want %v", test.policy, test.code, got, test.want)
		}
	}
}

func TestStatus(t *testing.T) {
	const image = "example.com/program:v1"
	always := corev1.ContainerRestartPolicyAlways
	sidecar := nodetest.Containers(image, "sidecar")
	sidecar[0].RestartPolicy = &always
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for name, test := range map[string]struct {
		inits, containers  []corev1.Container
		change             func(p *Pod)
		phase              corev1.PodPhase
		initialized, ready string
	}{
		"a new pod is pending": {
			containers: nodetest.Containers(image, "a"), phase: corev1.PodPending, initialized: "True", ready: "False",
		},
		"a running pod is not ready before its container": {
			containers: nodetest.Containers(image, "a"), phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *Pod) { p.containers[0].state = nodetest.Running() },
		},
		"a pod is ready with all its containers": {
			containers: nodetest.Containers(image, "a", "b"), phase: corev1.PodRunning, initialized: "True", ready: "True",
			change: func(p *Pod) {
				for _, c := range p.containers {
					c.state, c.ready = nodetest.Running(), true
				}
			},
		},
		"one container that is not ready holds the pod back": {
			containers: nodetest.Containers(image, "a", "b"), phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *Pod) {
				p.containers[0].state, p.containers[0].ready = nodetest.Running(), true
				p.containers[1].state = nodetest.Running()
			},
		},
		"a pod is pending while one container waits for its first start": {
			containers: nodetest.Containers(image, "a", "b"), phase: corev1.PodPending, initialized: "True", ready: "False",
			change: func(p *Pod) { p.containers[0].state, p.containers[0].ready = nodetest.Running(), true },
		},
		"a crash loop is running, not ready": {
			containers: nodetest.Containers(image, "a"), phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *Pod) { p.containers[0].state, p.containers[0].restarts = waiting, 3 },
		},
		"all ended well is succeeded": {
			containers: nodetest.Containers(image, "a", "b"), phase: corev1.PodSucceeded, initialized: "True", ready: "False",
			change: func(p *Pod) {
				for _, c := range p.containers {
					c.state, c.ended = nodetest.Terminated(0), true
				}
				p.finished = true
			},
		},
		"one that failed makes a failed pod once all ended": {
			containers: nodetest.Containers(image, "a", "b"), phase: corev1.PodFailed, initialized: "True", ready: "False",
			change: func(p *Pod) {
				for i, c := range p.containers {
					c.state, c.ended = nodetest.Terminated(int32(i)), true
				}
				p.finished = true
			},
		},
		"a pod is running until its sidecars have ended": {
			inits: sidecar, containers: nodetest.Containers(image, "a"),
			phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *Pod) {
				p.inits[0].state, p.inits[0].ended = nodetest.Terminated(0), true
				p.containers[0].state, p.containers[0].ended = nodetest.Terminated(0), true
			},
		},
		"a sidecar that was ended does not fail the pod": {
			inits: sidecar, containers: nodetest.Containers(image, "a"),
			phase: corev1.PodSucceeded, initialized: "True", ready: "False",
			change: func(p *Pod) {
				p.inits[0].state, p.containers[0].state, p.finished = nodetest.Terminated(143), nodetest.Terminated(0), true
			},
		},
		"a pod that ended before it ran has failed": {
			containers: nodetest.Containers(image, "a"), phase: corev1.PodFailed, initialized: "True", ready: "False",
			change: func(p *Pod) { p.finished = true },
		},
		"a pod that outlived its deadline has failed": {
			containers: nodetest.Containers(image, "a"), phase: corev1.PodFailed, initialized: "True", ready: "False",
			change: func(p *Pod) { p.containers[0].state, p.exceeded, p.finished = nodetest.Terminated(0), true, true },
		},
		"one that failed is running while the other runs": {
			containers: nodetest.Containers(image, "a", "b"), phase: corev1.PodRunning, initialized: "True", ready: "False",
			change: func(p *Pod) {
				p.containers[0].state, p.containers[0].ended = nodetest.Terminated(1), true
				p.containers[1].state, p.containers[1].ready = nodetest.Running(), true
			},
		},
		"an init container that runs keeps the pod pending": {
			inits: nodetest.Containers(image, "init"), containers: nodetest.Containers(image, "a"),
			phase: corev1.PodPending, initialized: "False", ready: "False",
			change: func(p *Pod) { p.inits[0].state = nodetest.Running() },
		},
		"an init container that failed for good fails the pod": {
			inits: nodetest.Containers(image, "init"), containers: nodetest.Containers(image, "a"),
			phase: corev1.PodFailed, initialized: "False", ready: "False",
			change: func(p *Pod) { p.inits[0].state, p.finished = nodetest.Terminated(1), true },
		},
		"a sidecar that has started lets the pod run": {
			inits: sidecar, containers: nodetest.Containers(image, "a"),
			phase: corev1.PodRunning, initialized: "True", ready: "True",
			change: func(p *Pod) {
				p.inits[0].state, p.inits[0].started, p.inits[0].ready = nodetest.Running(), true, true
				p.containers[0].state, p.containers[0].ready = nodetest.Running(), true
			},
		},
		"an image that is not there keeps the pod pending": {
			containers: nodetest.Containers("example.com/program:v2", "a"), phase: corev1.PodPending, initialized: "True", ready: "False",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(newHost(t), nodetest.Pod(corev1.PodSpec{InitContainers: test.inits, Containers: test.containers}))
			if test.change != nil {
				test.change(p)
			}
			status := p.status()
			if status.Phase != test.phase {
				t.Errorf("the phase is %s, want %s", status.Phase, test.phase)
			}
			if got := nodetest.Condition(status, corev1.PodInitialized); got != test.initialized {
				t.Errorf("Initialized is %s, want %s", got, test.initialized)
			}
			if got := nodetest.Condition(status, corev1.PodReady); got != test.ready {
				t.Errorf("Ready is %s, want %s", got, test.ready)
			}
			if got := nodetest.Condition(status, corev1.ContainersReady); got != test.ready {
				t.Errorf("ContainersReady is %s, want %s", got, test.ready)
			}
		})
	}
}

func TestConditionKeepsTheTimeOfItsLastChange(t *testing.T) {
	p := New(newHost(t), nodetest.Pod(corev1.PodSpec{Containers: nodetest.Containers("example.com/program:v1", "a")}))
	p.publish()
	first := p.Object().Status
	p.containers[0].state, p.containers[0].ready = nodetest.Running(), true
	p.publish()
	for i, c := range p.Object().Status.Conditions {
		same := c.LastTransitionTime.Equal(&first.Conditions[i].LastTransitionTime)
		if changed := c.Status != first.Conditions[i].Status; changed == same {
			t.Errorf("%s changed: %v, but its time stayed: %v", c.Type, changed, same)
		}
	}
}

func TestAPodContinuesAfterARestartOfTheNode(t *testing.T) {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for name, test := range map[string]struct {
		policy   corev1.RestartPolicy
		was      corev1.ContainerState
		restarts int32 // two restarts before this one
		last     string
		ended    bool
	}{
		"what ran is started again":                        {corev1.RestartPolicyAlways, nodetest.Running(), 3, "NodeRestarted", false},
		"what ran and may run once only has ended":         {corev1.RestartPolicyNever, nodetest.Running(), 2, "", true},
		"what had succeeded has ended":                     {corev1.RestartPolicyOnFailure, nodetest.Terminated(0), 2, "", true},
		"what had failed is started again":                 {corev1.RestartPolicyOnFailure, nodetest.Terminated(1), 3, "", false},
		"what had failed and may run once only has ended":  {corev1.RestartPolicyNever, nodetest.Terminated(1), 2, "", true},
		"what waited for its next start is started":        {corev1.RestartPolicyAlways, waiting, 2, "", false},
		"what waited for its first start may still run":    {corev1.RestartPolicyNever, waiting, 2, "", false},
		"what was asked for but never reported is started": {corev1.RestartPolicyNever, corev1.ContainerState{}, 2, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			object := nodetest.Pod(corev1.PodSpec{RestartPolicy: test.policy, Containers: nodetest.Containers("example.com/program:v1", "a")})
			object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", RestartCount: 2, State: test.was}}
			c := New(newHost(t), object).containers[0]
			if ended := c.state.Terminated != nil; c.restarts != test.restarts || ended != test.ended {
				t.Errorf("there are %d restarts, ended: %v, want %d, %v", c.restarts, ended, test.restarts, test.ended)
			}
			if test.last != "" && (c.last.Terminated == nil || c.last.Terminated.Reason != test.last) {
				t.Errorf("the last end is %+v, want %s", c.last, test.last)
			}
		})
	}
}

func TestTheFirstReportOnAProcessIsNotRunning(t *testing.T) {
	host := newHost(t)
	host.Runtimes[0] = fakeRuntime{start: func(ctx context.Context) (runtime.Run, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	said := make(chan *corev1.Pod, 100)
	host.Notify = func(p *corev1.Pod) { said <- p }
	object := nodetest.Pod(corev1.PodSpec{Containers: nodetest.Containers("example.com/program:v1", "a")})
	object.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	p := New(host, object)
	p.Start()
	defer p.Stop()
	select {
	case first := <-said:
		if nodetest.Condition(first.Status, corev1.PodReady) != "False" {
			t.Errorf("the first word is that the pod is ready: %s", nodetest.Describe(first.Status))
		}
	case <-time.After(nodetest.Patience):
		t.Error("nothing is said of the pod")
	}
}

func TestInitContainersRunAgainAfterTheNodeWasRestarted(t *testing.T) {
	object := nodetest.Pod(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, InitContainers: nodetest.Containers("example.com/program:v1", "done", "failed"), Containers: nodetest.Containers("example.com/program:v1", "a")})
	object.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "done", State: nodetest.Terminated(0)}, {Name: "failed", State: nodetest.Terminated(1)}}
	p := New(newHost(t), object)
	if p.inits[0].state.Terminated != nil || p.inits[1].state.Terminated == nil {
		t.Errorf("their states are %+v, %+v", p.inits[0].state, p.inits[1].state)
	}
}

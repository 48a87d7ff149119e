package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/process"
)

// APIServerPid returns the PID of the API server, or 0 while it does not run.
func (c *ControlPlane) APIServerPid() int {
	for _, s := range c.States() {
		if s.Name == "kube-apiserver" && s.Running {
			return s.Pid
		}
	}
	return 0
}

// Ready returns an error if a program does not run or the API server is not ready.
func (c *ControlPlane) Ready(ctx context.Context) error {
	for _, s := range c.States() {
		switch {
		case s.Running:
		case s.LastExit != nil:
			return fmt.Errorf("%s: %s; its log is %s", s.Phase, s.LastExit.Message, s.Log)
		default:
			return fmt.Errorf("%s is %s", s.Name, s.Phase)
		}
	}
	return c.serves(ctx)
}

// serves returns an error if the API server is not ready.
func (c *ControlPlane) serves(ctx context.Context) error {
	_, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

// NodeReady returns an error if the node does not accept pods.
func (c *ControlPlane) NodeReady(ctx context.Context) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return fmt.Errorf("node %s is not ready: %s", NodeName, condition.Message)
		}
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return fmt.Errorf("node %s accepts no pods: it has the taint %s", NodeName, taint.Key)
		}
	}
	return nil
}

// WaitNode waits until the node accepts pods.
func (c *ControlPlane) WaitNode(ctx context.Context) error {
	if err := c.wait(ctx, "kube-controller-manager", "to make the node accept pods", c.NodeReady); err != nil {
		return fmt.Errorf("start the node: %w", err)
	}
	return nil
}

// admitsPods returns an error if the API server cannot admit pods: a pod needs the default service account, which a
// controller creates.
func (c *ControlPlane) admitsPods(ctx context.Context) error {
	_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}

// wait waits until check returns nil. program and what describe the wait. wait gives up if a program is in a crash
// loop.
func (c *ControlPlane) wait(ctx context.Context, program, what string, check func(context.Context) error) error {
	c.setWaiting(program + " " + what)
	defer c.setWaiting("")
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	results := make(chan error, 1)
	// A check hangs if the API server cannot reach etcd, so the loop watches the programs meanwhile.
	look := func() { results <- check(ctx) }
	go look()
	err := errors.New("it did not answer")
	answered := false
	for {
		select {
		case err = <-results:
			if err == nil {
				return nil
			}
			answered = true
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return c.blameStore(ctx, program, fmt.Errorf("waited %s for %s %s: %w; its log is %s", readyTimeout, program, what, err, c.home.Log(program)))
			}
			return fmt.Errorf("wait for %s %s: %w", program, what, context.Cause(ctx))
		case <-tick.C:
			if err := c.crashLoop(ctx); err != nil {
				return err
			}
			if answered {
				answered = false
				go look()
			}
		}
	}
}

// crashLoop returns an error if a program is in a crash loop.
func (c *ControlPlane) crashLoop(ctx context.Context) error {
	for _, s := range c.States() {
		if s.Phase == process.CrashLooping {
			return c.blameStore(ctx, s.Name, fmt.Errorf("crash loop: %s; its log is %s", s.LastExit.Message, s.Log))
		}
	}
	return nil
}

// blameStore adds the state of etcd and the remedy to the error of a program if etcd may be the cause.
func (c *ControlPlane) blameStore(ctx context.Context, program string, err error) error {
	switch {
	case program == "etcd":
	case program == "kube-apiserver" && c.storeServes(ctx) != nil:
		err = fmt.Errorf("%w; etcd does not serve; its log is %s", err, c.home.Log("etcd"))
	default:
		return err
	}
	return fmt.Errorf("%w; etcd's data, which may be damaged, is in %s: restore it from a backup, or start over with `%s`",
		err, store(c.home), c.home.Call("down --purge"))
}

// setWaiting sets the text that Waiting returns.
func (c *ControlPlane) setWaiting(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = what
}

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/process"
)

// Ready says what keeps the control plane from its work: a program that does not run, or an API server that is not
// ready; nil where nothing does.
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

// serves says why the API server is not ready.
func (c *ControlPlane) serves(ctx context.Context) error {
	_, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

// NodeReady says why the node takes no pods; nil where it does.
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
			return fmt.Errorf("node %s takes no pods: it has the taint %s", NodeName, taint.Key)
		}
	}
	return nil
}

// WaitNode waits until the node takes pods.
func (c *ControlPlane) WaitNode(ctx context.Context) error {
	if err := c.wait(ctx, "kube-controller-manager", "to let the node take pods", c.NodeReady); err != nil {
		return fmt.Errorf("start the node: %w", err)
	}
	return nil
}

// takesPods says why no pod can be made: the admission of a pod wants the service account that a controller makes.
func (c *ControlPlane) takesPods(ctx context.Context) error {
	_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}

// wait waits for what a program is to do: until check returns nil. It gives up on a program that ends again and again.
func (c *ControlPlane) wait(ctx context.Context, program, what string, check func(context.Context) error) error {
	c.setWaiting(program + " " + what)
	defer c.setWaiting("")
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	results := make(chan error, 1)
	// An API server that cannot reach its store lets a check wait: programs are looked at meanwhile.
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

// crashLoop says which program ends again and again.
func (c *ControlPlane) crashLoop(ctx context.Context) error {
	for _, s := range c.States() {
		if s.Phase == process.CrashLooping {
			return c.blameStore(ctx, s.Name, fmt.Errorf("crash loop: %s; its log is %s", s.LastExit.Message, s.Log))
		}
	}
	return nil
}

// blameStore adds to what is wrong with a program what is wrong with etcd, where that may be the cause.
func (c *ControlPlane) blameStore(ctx context.Context, program string, err error) error {
	switch {
	case program == "etcd":
	case program == "kube-apiserver" && c.storeServes(ctx) != nil:
		err = fmt.Errorf("%w; etcd does not serve; its log is %s", err, c.home.Log("etcd"))
	default:
		return err
	}
	return fmt.Errorf("%w; etcd's data, which may be damaged, is in %s: put a copy of it back, or begin anew by `%s`",
		err, store(c.home), c.home.Call("down --purge"))
}

func (c *ControlPlane) setWaiting(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = what
}

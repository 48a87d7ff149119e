package flux

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waitPods waits until Flux's pods with these labels are gone.
func (o Options) waitPods(ctx context.Context, kube client.Client, which client.MatchingLabels) error {
	return o.waitGone(ctx, podsLimit, func(ctx context.Context) (int, error) {
		var pods corev1.PodList
		err := kube.List(ctx, &pods, client.InNamespace(o.Install.Namespace), which)
		return len(pods.Items), err
	}, "pods of Flux")
}

func (o Options) waitNamespace(ctx context.Context, kube client.Client) error {
	if o.Install.KeepNamespace {
		return nil
	}
	ns := &corev1.Namespace{}
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		err := kube.Get(ctx, client.ObjectKey{Name: o.Install.Namespace}, ns)
		if isGone(err) {
			return true, nil
		}
		return false, err
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%w: %s", err, terminating(ns))
	}
	return err
}

// terminating returns the reason why a namespace still exists.
func terminating(ns *corev1.Namespace) string {
	for _, c := range ns.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	return "the namespace is still terminating: is the controller manager running?"
}

// waitGone waits until count returns zero. After limit, it continues with a warning.
func (o Options) waitGone(ctx context.Context, limit time.Duration, count func(context.Context) (int, error), what string) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	n := 0
	err := wait.PollUntilContextCancel(limited, pollInterval, true, func(context.Context) (bool, error) {
		var err error
		n, err = count(ctx)
		return n == 0, err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		o.Logger.Warningf("%d %s still there after %s, going on without them", n, what, limit)
		return nil
	}
	return err
}

package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/log"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// PollInterval is the interval between two checks of a condition that the cluster meets quickly.
	PollInterval = 100 * time.Millisecond
	// FinalizerInterval is the interval between two rounds of removing finalizers, which list all objects of a kind.
	FinalizerInterval = 300 * time.Millisecond

	podsLimit = 20 * time.Second
)

// Gone reports whether err means that an object does not exist, or that the cluster does not have its kind.
func Gone(err error) bool { return apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) }

// PartOfFlux returns the label of all objects that Flux's manifests contain.
func PartOfFlux() client.MatchingLabels {
	return client.MatchingLabels{manifestgen.PartOfLabelKey: manifestgen.PartOfLabelValue}
}

// WaitForPods waits until the namespace has no pods with these labels. After 20 seconds, it warns and returns, because
// a broken cluster never deletes its pods.
func WaitForPods(ctx context.Context, kube client.Client, namespace string, labels client.MatchingLabels, logger log.Logger) error {
	limited, cancel := context.WithTimeout(ctx, podsLimit)
	defer cancel()
	n := 0
	// The limit ends the wait but no call, because an interrupted call returns errors of its own.
	err := wait.PollUntilContextCancel(limited, PollInterval, true, func(context.Context) (bool, error) {
		var pods corev1.PodList
		err := kube.List(ctx, &pods, client.InNamespace(namespace), labels)
		n = len(pods.Items)
		return n == 0, err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		logger.Warningf("%d pods of Flux still exist after %s, continuing without waiting for them", n, podsLimit)
		return nil
	}
	return err
}

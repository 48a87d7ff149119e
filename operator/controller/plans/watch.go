package plans

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/strata-platform/strata/operator/plan"
)

// kindPoll is how often the watch looks for the kind Plan in a cluster that has none.
const kindPoll = 5 * time.Second

// watch enqueues each Plan when it is new, and older ones when a namespace has too many. It keeps only metadata. It is a Runnable of a
// manager. Layer 3 creates the kind, possibly after the operator has started, so the watch waits for it.
type watch struct {
	discovery discovery.DiscoveryInterface
	metadata  metadata.Interface
	known     *known
	log       logr.Logger

	// fed is closed when queue is set.
	fed   chan struct{}
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

// feed makes the watch feed a queue. It is a source of a controller.
func (w *watch) feed(_ context.Context, queue workqueue.TypedRateLimitingInterface[types.NamespacedName]) error {
	w.queue = queue
	close(w.fed)
	return nil
}

// Start implements manager.Runnable. It watches the Plans until ctx ends.
func (w *watch) Start(ctx context.Context) error {
	select {
	case <-w.fed:
	case <-ctx.Done():
		return nil
	}
	ticker := time.NewTicker(kindPoll)
	defer ticker.Stop()
	for said := ""; ; {
		missing := w.missing(ctx)
		if missing == nil {
			break
		}
		if ctx.Err() == nil && missing.Error() != said {
			said = missing.Error()
			w.log.Info("commits are not planned yet", "reason", said)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
	informer := metadatainformer.NewFilteredMetadataInformer(w.metadata, plan.Resource(), metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if err := informer.SetTransform(strip); err != nil {
		return fmt.Errorf("set up the watch of Plans: %w", err)
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { w.see(now) },
		UpdateFunc: func(_, now any) { w.see(now) },
		DeleteFunc: w.forget,
	}); err != nil {
		return fmt.Errorf("set up the watch of Plans: %w", err)
	}
	informer.RunWithContext(ctx)
	return nil
}

// missing returns an error if the cluster does not have the kind, or the operator may not list it.
func (w *watch) missing(ctx context.Context) error {
	group := plan.Resource().GroupVersion().String()
	kinds, err := w.discovery.ServerResourcesForGroupVersion(group)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("look for the kind %s: %w", plan.Kind, err)
	}
	if err != nil || !slices.ContainsFunc(kinds.APIResources, func(r metav1.APIResource) bool { return r.Name == plan.Plural }) {
		return fmt.Errorf("the cluster has no kind %s: layer 3 creates it", plan.Kind)
	}
	if _, err := w.metadata.Resource(plan.Resource()).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return fmt.Errorf("list the %s: %w", plan.Plural, err)
	}
	return nil
}

// see handles a Plan that is new, or that has changed. The queue merges the keys of one Plan.
func (w *watch) see(object any) {
	found, is := object.(*metav1.PartialObjectMetadata)
	if !is {
		return
	}
	of := types.NamespacedName{Namespace: found.Namespace, Name: found.Name}
	if plan.IsOfStack(of.Name) {
		w.queue.Add(of)
		return
	}
	before, _, was := w.known.get(of)
	if was && before.uid == found.UID {
		// Only the status changes, and only the operator writes it.
		return
	}
	w.known.add(found)
	w.queue.Add(of)
	for _, old := range w.known.oldest(of.Namespace) {
		w.queue.Add(types.NamespacedName{Namespace: of.Namespace, Name: old})
	}
}

// forget handles a Plan that is gone.
func (w *watch) forget(object any) {
	if gone, is := object.(cache.DeletedFinalStateUnknown); is {
		object = gone.Obj
	}
	if found, is := object.(*metav1.PartialObjectMetadata); is {
		w.known.remove(found)
		w.queue.Add(types.NamespacedName{Namespace: found.Namespace, Name: found.Name})
	}
}

// strip removes the fields of a Plan that no caller reads, because the watch keeps all Plans in memory, and a team may write 256 KiB of
// annotations into each.
func strip(object any) (any, error) {
	if found, is := object.(*metav1.PartialObjectMetadata); is {
		found.Annotations, found.Labels, found.OwnerReferences, found.ManagedFields = nil, nil, nil, nil
	}
	return object, nil
}

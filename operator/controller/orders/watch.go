package orders

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/strata-platform/strata/catalogue"
	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// kinds returns the kinds of the catalogue; none if the cluster has no catalogue.
func (c *Controller) kinds() ([]Kind, error) {
	list, err := c.discovery.ServerResourcesForGroupVersion(catalogue.Group + "/" + catalogue.Version)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the kinds of %s: %w", catalogue.Group, err)
	}
	var kinds []Kind
	for _, resource := range list.APIResources {
		if resource.Namespaced && !strings.Contains(resource.Name, "/") {
			kinds = append(kinds, Kind{Resource: resource.Name, Singular: resource.SingularName, Name: resource.Kind})
		}
	}
	return kinds, nil
}

// watches enqueue an order whenever it or its Stack changes. They keep only metadata.
type watches struct {
	ctx      context.Context
	metadata metadata.Interface
	queue    workqueue.TypedRateLimitingInterface[key]
	known    *known
	log      *slog.Logger

	running sync.WaitGroup
	// stop ends the watch of each kind.
	stop map[Kind]context.CancelFunc
}

func newWatches(ctx context.Context, objects metadata.Interface, queue workqueue.TypedRateLimitingInterface[key], seen *known, log *slog.Logger) *watches {
	return &watches{ctx: ctx, metadata: objects, queue: queue, known: seen, log: log, stop: map[Kind]context.CancelFunc{}}
}

// keep starts the watches of new kinds and ends those of kinds that are gone.
func (w *watches) keep(kinds []Kind) {
	wanted := map[Kind]bool{}
	for _, kind := range kinds {
		wanted[kind] = true
		if w.stop[kind] == nil {
			ctx, cancel := context.WithCancel(w.ctx)
			w.stop[kind] = cancel
			w.watch(ctx, kind)
		}
	}
	for kind, stop := range w.stop {
		if !wanted[kind] {
			stop()
			delete(w.stop, kind)
			w.known.set(kind, nil, nil)
		}
	}
}

func (w *watches) close() {
	for _, stop := range w.stop {
		stop()
	}
	w.running.Wait()
}

// watch watches the orders of a kind in every namespace, and the Stacks of the kind in the entry's namespace.
func (w *watches) watch(ctx context.Context, kind Kind) {
	orders := schema.GroupVersionResource{Group: catalogue.Group, Version: catalogue.Version, Resource: kind.Resource}
	add := func(order *metav1.PartialObjectMetadata) { w.queue.Add(key{kind, order.Namespace, order.Name}) }
	seen := w.run(ctx, orders, metav1.NamespaceAll, nil, add, func(gone *metav1.PartialObjectMetadata) {
		w.known.forget(key{kind, gone.Namespace, gone.Name}, gone.UID)
		// The end of an order makes room for another one of its team.
		for _, order := range w.known.in(kind, gone.Namespace) {
			add(order)
		}
	})
	stacks := v1.GroupVersion.WithResource("stacks")
	mine := func(options *metav1.ListOptions) { options.LabelSelector = catalogue.KindLabel + "=" + kind.Singular }
	w.known.set(kind, seen, w.run(ctx, stacks, kind.Namespace(), mine, func(object *metav1.PartialObjectMetadata) {
		w.queue.Add(key{kind, object.Labels[catalogue.NamespaceLabel], object.Labels[catalogue.OrderLabel]})
	}, func(*metav1.PartialObjectMetadata) {}))
	w.log.Info("orders are handled", "kind", kind.Name, "namespace", kind.Namespace())
}

// run watches a resource. It calls add for each object that is new, has changed or is gone, and then ended for one that is
// gone. It returns the watch, which
// has an index by namespace.
func (w *watches) run(
	ctx context.Context, resource schema.GroupVersionResource, namespace string, tweak metadatainformer.TweakListOptionsFunc, add, ended func(*metav1.PartialObjectMetadata),
) cache.SharedIndexInformer {
	informer := metadatainformer.NewFilteredMetadataInformer(w.metadata, resource, namespace, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, tweak).Informer()
	call := func(handle func(*metav1.PartialObjectMetadata), object any) {
		if gone, is := object.(cache.DeletedFinalStateUnknown); is {
			object = gone.Obj
		}
		if found, is := object.(*metav1.PartialObjectMetadata); is {
			handle(found)
		}
	}
	// A fresh informer takes handlers and a transformation, so these errors do not occur.
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { call(add, now) }, UpdateFunc: func(_, now any) { call(add, now) },
		DeleteFunc: func(gone any) {
			call(add, gone)
			call(ended, gone)
		},
	})
	if err = errors.Join(err, informer.SetTransform(strip)); err != nil {
		w.log.Error("orders are not watched", "resource", resource.String(), "error", err)
		return informer
	}
	w.running.Go(func() { informer.RunWithContext(ctx) })
	return informer
}

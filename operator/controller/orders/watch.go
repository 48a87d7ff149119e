package orders

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/strata-platform/strata/catalogue"
	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// kindsPoll is how often the watches look for new kinds. They read one small document.
const kindsPoll = 5 * time.Second

// watches enqueue an order whenever it or its Stack changes. They keep only metadata. They are a Runnable of a manager.
type watches struct {
	discovery discovery.DiscoveryInterface
	metadata  metadata.Interface
	known     *known
	log       logr.Logger

	// fed is closed when queue is set.
	fed   chan struct{}
	queue workqueue.TypedRateLimitingInterface[key]

	running sync.WaitGroup
	// stop ends the watch of each kind.
	stop map[Kind]context.CancelFunc
}

func newWatches(kinds discovery.DiscoveryInterface, objects metadata.Interface, known *known, log logr.Logger) *watches {
	return &watches{discovery: kinds, metadata: objects, known: known, log: log, fed: make(chan struct{}), stop: map[Kind]context.CancelFunc{}}
}

// feed makes the watches feed a queue. It is a source of a controller.
func (w *watches) feed(_ context.Context, queue workqueue.TypedRateLimitingInterface[key]) error {
	w.queue = queue
	close(w.fed)
	return nil
}

// Start implements manager.Runnable. It watches the orders of all kinds until ctx ends.
func (w *watches) Start(ctx context.Context) error {
	defer w.close()
	select {
	case <-w.fed:
	case <-ctx.Done():
		return nil
	}
	ticker := time.NewTicker(kindsPoll)
	defer ticker.Stop()
	for {
		kinds, err := catalogue.Kinds(ctx, w.discovery)
		if err == nil {
			err = w.keep(ctx, kinds)
		}
		if err != nil && ctx.Err() == nil {
			w.log.Error(err, "watching the orders failed; the operator retries", "after", kindsPoll.String())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// keep starts the watches of new kinds and ends those of kinds that are gone. The next call starts a watch that failed.
func (w *watches) keep(ctx context.Context, kinds []metav1.APIResource) error {
	wanted := map[Kind]bool{}
	var failed []error
	for _, resource := range kinds {
		kind := Kind{Resource: resource.Name, Singular: resource.SingularName, Name: resource.Kind}
		wanted[kind] = true
		if w.stop[kind] != nil {
			continue
		}
		running, stop := context.WithCancel(ctx)
		if err := w.watch(running, kind); err != nil {
			stop()
			failed = append(failed, fmt.Errorf("watch the orders of kind %s: %w", kind.Name, err))
			continue
		}
		w.stop[kind] = stop
		w.log.Info("orders are handled", "kind", kind.Name, "namespace", kind.Namespace())
	}
	for kind, stop := range w.stop {
		if !wanted[kind] {
			stop()
			delete(w.stop, kind)
			w.known.set(kind, nil)
		}
	}
	return errors.Join(failed...)
}

func (w *watches) close() {
	for _, stop := range w.stop {
		stop()
	}
	w.running.Wait()
}

// watch watches the orders of a kind in every namespace, and the Stacks of the kind in the entry's namespace.
func (w *watches) watch(ctx context.Context, kind Kind) error {
	add := func(namespace, name string) { w.queue.Add(key{kind, namespace, name}) }
	group, orders := schema.GroupVersion{Group: catalogue.Group, Version: catalogue.Version}, &seen{}
	ended := func(order *metav1.PartialObjectMetadata) {
		add(order.Namespace, order.Name)
		if next := orders.remove(order); next != "" {
			add(order.Namespace, next)
		}
	}
	watched, listed, err := w.informer(group.WithResource(kind.Resource), metav1.NamespaceAll, nil, handlers{
		now: func(order *metav1.PartialObjectMetadata) {
			orders.add(order)
			add(order.Namespace, order.Name)
		},
		ended: ended,
	})
	if err != nil {
		return err
	}
	ofStack := func(exists bool) func(*metav1.PartialObjectMetadata) {
		return func(object *metav1.PartialObjectMetadata) {
			namespace, order := object.Labels[catalogue.NamespaceLabel], object.Labels[catalogue.OrderLabel]
			orders.setStack(namespace, order, exists)
			add(namespace, order)
		}
	}
	mine := func(options *metav1.ListOptions) { options.LabelSelector = catalogue.KindLabel + "=" + kind.Singular }
	stacks, stacksListed, err := w.informer(v1.GroupVersion.WithResource("stacks"), kind.Namespace(), mine, handlers{now: ofStack(true), ended: ofStack(false)})
	if err != nil {
		return err
	}
	w.known.set(kind, orders)
	w.running.Go(func() { watched.RunWithContext(ctx) })
	w.running.Go(func() { stacks.RunWithContext(ctx) })
	w.running.Go(func() {
		if !cache.WaitForCacheSync(ctx.Done(), listed.HasSynced, stacksListed.HasSynced) {
			return
		}
		for namespace, names := range orders.finish() {
			for _, name := range names {
				add(namespace, name)
			}
		}
	})
	return nil
}

// handlers handle what a watch reports.
type handlers struct {
	// now is called with each object that is new or has changed, and ended with each that is gone.
	now, ended func(*metav1.PartialObjectMetadata)
}

// informer returns a watch of a resource, and its registration, which tells whether the handlers have seen all objects that
// existed at the start. The caller runs the watch.
func (w *watches) informer(
	resource schema.GroupVersionResource, namespace string, tweak metadatainformer.TweakListOptionsFunc, on handlers,
) (cache.SharedIndexInformer, cache.ResourceEventHandlerRegistration, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(w.metadata, resource, namespace, 0, cache.Indexers{}, tweak).Informer()
	call := func(handle func(*metav1.PartialObjectMetadata), object any) {
		if gone, is := object.(cache.DeletedFinalStateUnknown); is {
			object = gone.Obj
		}
		if found, is := object.(*metav1.PartialObjectMetadata); is {
			handle(found)
		}
	}
	listed, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { call(on.now, now) },
		UpdateFunc: func(before, now any) {
			// After a lost connection, a new object of the same name is an update.
			if uid(before) != uid(now) {
				call(on.ended, before)
			}
			call(on.now, now)
		},
		DeleteFunc: func(gone any) { call(on.ended, gone) },
	})
	if err = errors.Join(err, informer.SetTransform(strip)); err != nil {
		return nil, nil, fmt.Errorf("set up the watch of %s: %w", resource.GroupResource(), err)
	}
	return informer, listed, nil
}

func uid(object any) types.UID {
	if found, is := object.(*metav1.PartialObjectMetadata); is {
		return found.UID
	}
	return ""
}

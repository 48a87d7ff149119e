package queue

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Waker adds objects to the work queue of one controller. It is a source of the controller.
type Waker struct {
	// started is closed when queue is set.
	started chan struct{}
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	fair    *Fair[reconcile.Request]
}

// NewWaker returns a Waker without a queue. The controller sets the queue when it starts.
func NewWaker() *Waker { return &Waker{started: make(chan struct{})} }

// Start implements source.Source.
func (w *Waker) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.queue = queue
	close(w.started)
	return nil
}

// Made stores the controller's queue. Pass Made to [Options].
func (w *Waker) Made(queue *Fair[reconcile.Request]) { w.fair = queue }

// Release stops counting an object whose reconciliation continues with a run.
func (w *Waker) Release(object types.NamespacedName) {
	w.fair.Release(reconcile.Request{NamespacedName: object})
}

// Wake adds an object to the work queue. Before the queue exists, Wake does nothing, because
// wakes result from reconciliations.
func (w *Waker) Wake(object types.NamespacedName) {
	select {
	case <-w.started:
		w.queue.Add(reconcile.Request{NamespacedName: object})
	default:
	}
}

// Package queue implements work queues whose workers the namespaces share.
package queue

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// Workers is the number of concurrent reconciliations, in addition to those that run a
	// program. workersPerNamespace bounds how many of these workers one namespace occupies:
	// its Stacks may refer to thousands of objects, and their reconciliation takes long.
	Workers             = 4
	workersPerNamespace = 2

	// firstErrorRetry and longestErrorRetry bound the wait after an error, which doubles
	// with each error. The first value is that of Flux's controllers. The second is
	// shorter than theirs, because no event reports the creation of a service account.
	firstErrorRetry   = 750 * time.Millisecond
	longestErrorRetry = 30 * time.Second
)

// Options returns the options of a controller whose workers the namespaces share.
// The controller passes its queue to made when it starts.
func Options(workers int, made func(*Fair)) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		// The default limiter also has one token bucket for all items. A team with failing
		// Stacks would empty it for the others.
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstErrorRetry, longestErrorRetry),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			queue := newFair(name, limiter)
			made(queue)
			return queue
		},
	}
}

// Fair is a work queue that serves namespaces in turn and gives each a limited
// number of workers. However many Stacks of one namespace change, a Stack of another
// namespace waits for at most one Stack of each namespace.
type Fair struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	turns *turns
}

func newFair(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) *Fair {
	turns := &turns{waiting: map[string][]reconcile.Request{}, working: map[string]int{}, counted: map[reconcile.Request]bool{}}
	base := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: turns})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: base})
	return &Fair{
		workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
			Name: name, DelayingQueue: delaying,
		}),
		turns,
	}
}

// nudge is an item that wakes a sleeping worker, so that it checks the queue again.
var nudge reconcile.Request

// Get implements workqueue.TypedInterface.
func (q *Fair) Get() (item reconcile.Request, shutdown bool) {
	for {
		item, shutdown = q.TypedRateLimitingInterface.Get()
		if shutdown || item != nudge {
			return item, shutdown
		}
		q.Done(item)
	}
}

// Done implements workqueue.TypedInterface.
func (q *Fair) Done(item reconcile.Request) {
	// This comes first, because the calling worker gets its next item after Done.
	q.turns.release(item)
	q.TypedRateLimitingInterface.Done(item)
}

// Release stops counting an item whose reconciliation continues with a run. Slots bound
// the runs.
func (q *Fair) Release(item reconcile.Request) {
	if q.turns.release(item) {
		q.Add(nudge)
	}
}

// turns holds the items of a work queue. The work queue locks it for all methods except
// release.
type turns struct {
	mu      sync.Mutex
	waiting map[string][]reconcile.Request

	// order lists the namespaces that have items, in the order of their turns.
	order []string

	// working counts the items of each namespace that have a worker. counted holds these
	// items.
	working map[string]int
	counted map[reconcile.Request]bool

	nudged bool
}

// Touch implements workqueue.Queue.
func (t *turns) Touch(reconcile.Request) {}

// Push implements workqueue.Queue.
func (t *turns) Push(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if item == nudge {
		t.nudged = true
		return
	}
	if t.waiting[item.Namespace] == nil {
		t.order = append(t.order, item.Namespace)
	}
	t.waiting[item.Namespace] = append(t.waiting[item.Namespace], item)
}

// Len implements workqueue.Queue. Len counts only the items that a worker may take now.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, namespace := range t.order {
		n += max(0, min(len(t.waiting[namespace]), workersPerNamespace-t.working[namespace]))
	}
	if t.nudged {
		n++
	}
	return n
}

// Pop implements workqueue.Queue. The work queue calls it only if Len is not zero.
func (t *turns) Pop() (item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nudged {
		t.nudged = false
		return nudge
	}
	at := slices.IndexFunc(t.order, func(namespace string) bool { return t.working[namespace] < workersPerNamespace })
	namespace := t.order[at]
	t.order = slices.Delete(t.order, at, at+1)
	item, rest := t.waiting[namespace][0], t.waiting[namespace][1:]
	if len(rest) == 0 {
		delete(t.waiting, namespace)
	} else {
		t.waiting[namespace] = rest
		t.order = append(t.order, namespace)
	}
	t.working[namespace]++
	t.counted[item] = true
	return item
}

// release makes room for another item of the same namespace. release reports whether
// the item was counted.
func (t *turns) release(item reconcile.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.counted[item] {
		return false
	}
	delete(t.counted, item)
	if t.working[item.Namespace]--; t.working[item.Namespace] == 0 {
		delete(t.working, item.Namespace)
	}
	return true
}

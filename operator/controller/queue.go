package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// workers is how many reconciliations go on at once besides those that run
	// something, workersPerNamespace how many of them are of one namespace: its Stacks
	// may take long, for they may refer to thousands of objects.
	workers             = 4
	workersPerNamespace = 2

	// firstErrorRetry and longestErrorRetry bound the wait after an error, which doubles
	// with each. The first is that of Flux's controllers. The last is shorter than
	// theirs: an account that comes at last is told by nobody.
	firstErrorRetry   = 750 * time.Millisecond
	longestErrorRetry = 30 * time.Second
)

// queueOptions are those of a controller whose workers the namespaces share. made is
// given its queue once it starts.
func queueOptions(workers int, made func(*fairQueue)) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		// The default limiter is one bucket for all besides: a team whose Stacks fail
		// would empty it for the others.
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstErrorRetry, longestErrorRetry),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			queue := newFairQueue(name, limiter)
			made(queue)
			return queue
		},
	}
}

// fairQueue is a work queue that gives the namespaces turns, and each of them only
// so many workers. However many Stacks of one namespace change, a Stack of another
// waits for no more than one of each namespace.
type fairQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	turns *turns
}

func newFairQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) *fairQueue {
	turns := &turns{waiting: map[string][]reconcile.Request{}, working: map[string]int{}, counted: map[reconcile.Request]bool{}}
	base := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: turns})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: base})
	return &fairQueue{
		workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
			Name: name, DelayingQueue: delaying,
		}),
		turns,
	}
}

// nudge is an item that has a worker that sleeps look at the queue again.
var nudge reconcile.Request

// Get implements workqueue.TypedInterface.
func (q *fairQueue) Get() (item reconcile.Request, shutdown bool) {
	for {
		item, shutdown = q.TypedRateLimitingInterface.Get()
		if shutdown || item != nudge {
			return item, shutdown
		}
		q.Done(item)
	}
}

// Done implements workqueue.TypedInterface.
func (q *fairQueue) Done(item reconcile.Request) {
	// First: the worker that calls this asks for the next item then.
	q.turns.release(item)
	q.TypedRateLimitingInterface.Done(item)
}

// release stops counting an item: its reconciliation goes on with a run, and slots bound
// runs.
func (q *fairQueue) release(item reconcile.Request) {
	if q.turns.release(item) {
		q.Add(nudge)
	}
}

// turns holds the items of a work queue, which locks it for all but release.
type turns struct {
	mu      sync.Mutex
	waiting map[string][]reconcile.Request

	// order has the namespaces that have items, the next one first.
	order []string

	// working is how many items of each namespace have a worker, counted which.
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

// Len implements workqueue.Queue. It leaves out what no worker may have now.
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

// Pop implements workqueue.Queue. It is called only when Len is not zero.
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

// release makes room for another item of the same namespace. It tells whether the
// item had been counted.
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

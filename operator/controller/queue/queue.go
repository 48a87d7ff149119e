// Package queue implements work queues whose workers the namespaces, or teams, share.
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
	// program. workersPerParty bounds how many of these workers one party occupies:
	// its Stacks may refer to thousands of objects, and their reconciliation takes long.
	Workers         = 4
	workersPerParty = 2

	// firstErrorRetry and longestErrorRetry bound the wait after an error, which doubles
	// with each error. The first value is that of Flux's controllers. The second is
	// shorter than theirs, because no event reports the creation of a service account.
	firstErrorRetry   = 750 * time.Millisecond
	longestErrorRetry = 30 * time.Second
)

// Options returns the options of a controller whose workers the parties share. party
// returns the party of an item: its namespace, or the namespace of the team for which the
// platform holds the object. The controller passes its queue to made when it starts.
func Options[T comparable](workers int, party func(T) string, made func(*Fair[T])) controller.TypedOptions[T] {
	return controller.TypedOptions[T]{
		MaxConcurrentReconciles: workers,
		// The default limiter also has one token bucket for all items. A team with failing
		// Stacks would empty it for the others.
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[T](firstErrorRetry, longestErrorRetry),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
			queue := newFair(name, party, limiter)
			made(queue)
			return queue
		},
	}
}

// Namespace returns the namespace of a request, as the party for [Options].
func Namespace(request reconcile.Request) string { return request.Namespace }

// Fair is a work queue that serves parties in turn and gives each a limited number of
// workers. However many items of one party change, an item of another party waits for at
// most one item of each party. The zero value of T is no item.
type Fair[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]

	turns *turns[T]
}

func newFair[T comparable](name string, party func(T) string, limiter workqueue.TypedRateLimiter[T]) *Fair[T] {
	turns := &turns[T]{party: party, waiting: map[string][]T{}, working: map[string]int{}, counted: map[T]bool{}}
	base := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: name, Queue: turns})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{Name: name, Queue: base})
	return &Fair[T]{
		workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[T]{
			Name: name, DelayingQueue: delaying,
		}),
		turns,
	}
}

// isNudge reports whether an item is the zero value. It wakes a sleeping worker, so that the
// worker checks the queue again.
func isNudge[T comparable](item T) bool {
	var nudge T
	return item == nudge
}

// Get implements workqueue.TypedInterface.
func (q *Fair[T]) Get() (item T, shutdown bool) {
	for {
		item, shutdown = q.TypedRateLimitingInterface.Get()
		if shutdown || !isNudge(item) {
			return item, shutdown
		}
		q.Done(item)
	}
}

// Done implements workqueue.TypedInterface.
func (q *Fair[T]) Done(item T) {
	// This comes first, because the calling worker gets its next item after Done.
	q.turns.release(item)
	q.TypedRateLimitingInterface.Done(item)
}

// Release stops counting an item whose reconciliation continues with a run. Slots bound
// the runs.
func (q *Fair[T]) Release(item T) {
	if q.turns.release(item) {
		var nudge T
		q.Add(nudge)
	}
}

// turns holds the items of a work queue. The work queue locks it for all methods except
// release.
type turns[T comparable] struct {
	party func(T) string

	mu sync.Mutex

	// waiting maps each party to its items.
	waiting map[string][]T

	// order lists the parties that have items, in the order of their turns.
	order []string

	// working counts the items of each party that have a worker. counted holds these
	// items.
	working map[string]int
	counted map[T]bool

	nudged bool
}

// Touch implements workqueue.Queue.
func (t *turns[T]) Touch(T) {}

// Push implements workqueue.Queue.
func (t *turns[T]) Push(item T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isNudge(item) {
		t.nudged = true
		return
	}
	party := t.party(item)
	if t.waiting[party] == nil {
		t.order = append(t.order, party)
	}
	t.waiting[party] = append(t.waiting[party], item)
}

// Len implements workqueue.Queue. Len counts only the items that a worker may take now.
func (t *turns[T]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, party := range t.order {
		n += max(0, min(len(t.waiting[party]), workersPerParty-t.working[party]))
	}
	if t.nudged {
		n++
	}
	return n
}

// Pop implements workqueue.Queue. The work queue calls it only if Len is not zero.
func (t *turns[T]) Pop() (item T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nudged {
		t.nudged = false
		return item
	}
	at := slices.IndexFunc(t.order, func(party string) bool { return t.working[party] < workersPerParty })
	party := t.order[at]
	t.order = slices.Delete(t.order, at, at+1)
	item, rest := t.waiting[party][0], t.waiting[party][1:]
	if len(rest) == 0 {
		delete(t.waiting, party)
	} else {
		t.waiting[party] = rest
		t.order = append(t.order, party)
	}
	t.working[party]++
	t.counted[item] = true
	return item
}

// release makes room for another item of the same party. release reports whether
// the item was counted.
func (t *turns[T]) release(item T) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.counted[item] {
		return false
	}
	delete(t.counted, item)
	party := t.party(item)
	if t.working[party]--; t.working[party] == 0 {
		delete(t.working, party)
	}
	return true
}

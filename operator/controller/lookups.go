package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/operator/source"
)

const (
	// lookupsPerNamespace and lookupsAtOnce bound how many lookups are active. Each lookup
	// runs a process, which lasts until lookupTimeout if the server does not answer.
	lookupsPerNamespace = 2
	lookupsAtOnce       = 8

	// lookupTimeout bounds one lookup with all its steps.
	lookupTimeout = 10 * time.Second
)

// errLookup means that a lookup is active. The end of the lookup wakes the Stack.
var errLookup = errors.New("the commit to run is being looked up")

// lookups queries the Git servers that teams have chosen. No worker waits for them:
// each lookup has its own goroutine, which stores the answer and wakes the Stack.
// Namespaces share the lookups as they share the runs.
type lookups struct {
	wake    func(types.NamespacedName)
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	// mu is held during every call of slots, and so during the wakes that slots causes.
	mu     sync.Mutex
	slots  *slots
	of     map[types.NamespacedName]*lookup
	active map[types.NamespacedName]bool
}

// lookup is the last lookup of a Stack.
type lookup struct {
	question string
	ask      func(context.Context) (source.Git, error)
	ctx      context.Context
	cancel   context.CancelFunc

	// found is nil until the lookup has ended.
	found *finding
}

// finding is the result of a lookup: the commit to run, or an error.
type finding struct {
	git source.Git
	err error
	at  time.Time
}

func newLookups(wake func(types.NamespacedName)) *lookups {
	l := &lookups{wake: wake, of: map[types.NamespacedName]*lookup{}, active: map[types.NamespacedName]bool{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.slots = newSlots(lookupsAtOnce, func(bool) bool { return true }, l.start)
	l.slots.each = lookupsPerNamespace
	return l
}

// find returns the result of the Stack's lookup if question is the same and good
// accepts the result. Otherwise find returns nil and starts a lookup with ask, unless
// one for the same question is active. The end of the lookup wakes the Stack. A lookup
// for another question cancels the Stack's previous one.
func (l *lookups) find(stack types.NamespacedName, question string, good func(*finding) bool, ask func(context.Context) (source.Git, error)) *finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.of[stack]; last != nil {
		if last.question == question && (last.found == nil || good(last.found)) {
			return last.found
		}
		last.cancel()
	}
	next := &lookup{question: question, ask: ask}
	next.ctx, next.cancel = context.WithCancel(l.ctx)
	l.of[stack] = next
	if l.slots.take(stack) && !l.active[stack] {
		l.start(stack)
	}
	return nil
}

// forget drops the Stack's result and cancels its lookup.
func (l *lookups) forget(stack types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.of[stack]; last != nil {
		last.cancel()
		delete(l.of, stack)
	}
	if !l.active[stack] {
		l.slots.leave(stack)
	}
}

// close cancels all lookups and waits for them.
func (l *lookups) close() {
	l.cancel()
	l.running.Wait()
}

// start runs the lookup of a Stack that has a slot.
func (l *lookups) start(stack types.NamespacedName) {
	l.active[stack] = true
	l.running.Go(func() {
		if current := l.unanswered(stack); current != nil {
			l.answer(stack, current)
		}
		l.done(stack)
	})
}

// unanswered returns the Stack's pending lookup, or nil if there is none.
func (l *lookups) unanswered(stack types.NamespacedName) *lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	if current := l.of[stack]; current != nil && current.found == nil {
		return current
	}
	return nil
}

// done passes the slot of a Stack to the next one. If the Stack has another lookup by
// now, that lookup waits for its turn. A slot is good for one lookup, so that a Stack
// that changes continuously delays nobody.
func (l *lookups) done(stack types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.active, stack)
	l.slots.leave(stack)
	if current := l.of[stack]; current != nil && current.found == nil && l.ctx.Err() == nil && l.slots.take(stack) {
		l.start(stack)
	}
}

func (l *lookups) answer(stack types.NamespacedName, current *lookup) {
	ctx, cancel := context.WithTimeout(current.ctx, lookupTimeout)
	defer cancel()
	found := &finding{}
	found.git, found.err = current.ask(ctx)
	found.at = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[stack] != current {
		return
	}
	current.cancel()
	current.found, current.ask = found, nil
	if l.ctx.Err() == nil {
		l.wake(stack)
	}
}

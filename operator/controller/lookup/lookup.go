// Package lookup queries the Git servers that teams have chosen, without blocking the workers of the controller.
package lookup

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/operator/controller/slots"
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

// ErrActive means that the commit is unknown while a lookup is active. The end of the lookup wakes the Stack.
var ErrActive = errors.New("the operator is looking up the commit to run")

// Lookups queries the Git servers that teams have chosen. No worker waits for them:
// each lookup has its own goroutine, which stores the answer and wakes the Stack.
// Namespaces share the lookups as they share the runs.
type Lookups struct {
	wake    func(types.NamespacedName)
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	// mu is held during every call of slots, and so during the calls of start by slots.
	mu    sync.Mutex
	slots *slots.Slots

	// lookups maps each Stack to its last lookup. active holds the Stacks whose goroutine
	// runs.
	lookups map[types.NamespacedName]*lookup
	active  map[types.NamespacedName]bool
}

// lookup is the last lookup of a Stack.
type lookup struct {
	question string
	ask      func(context.Context) (source.Git, error)
	ctx      context.Context
	cancel   context.CancelFunc

	// found is nil until the lookup has ended.
	found *Finding
}

// Finding is the result of a lookup: the commit to run, or an error.
type Finding struct {
	// Git is the repository with the commit to run. Git is not valid if Err is set.
	Git source.Git
	Err error

	// At is the time at which the lookup ended.
	At time.Time
}

// New returns Lookups that call wake with a Stack when its lookup has ended. The caller calls Close.
func New(wake func(types.NamespacedName)) *Lookups {
	l := &Lookups{wake: wake, lookups: map[types.NamespacedName]*lookup{}, active: map[types.NamespacedName]bool{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.slots = slots.New(lookupsAtOnce, lookupsPerNamespace, func(bool) bool { return true }, l.start)
	return l
}

// Find returns the result of the Stack's last lookup if that lookup had the same question
// and valid accepts its result. Otherwise Find returns nil and starts a lookup with ask,
// unless one for the same question is active. The end of the lookup wakes the Stack. A
// lookup for another question cancels the Stack's previous lookup.
func (l *Lookups) Find(stack types.NamespacedName, question string, valid func(*Finding) bool, ask func(context.Context) (source.Git, error)) *Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.lookups[stack]; last != nil {
		if last.question == question && (last.found == nil || valid(last.found)) {
			return last.found
		}
		last.cancel()
	}
	next := &lookup{question: question, ask: ask}
	next.ctx, next.cancel = context.WithCancel(l.ctx)
	l.lookups[stack] = next
	if l.slots.Take(stack) && !l.active[stack] {
		l.start(stack)
	}
	return nil
}

// Forget drops the Stack's result and cancels its lookup.
func (l *Lookups) Forget(stack types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.lookups[stack]; last != nil {
		last.cancel()
		delete(l.lookups, stack)
	}
	if !l.active[stack] {
		l.slots.Leave(stack)
	}
}

// Close cancels all lookups and waits for them.
func (l *Lookups) Close() {
	l.cancel()
	l.running.Wait()
}

// start runs the lookup of a Stack that has a slot.
func (l *Lookups) start(stack types.NamespacedName) {
	l.active[stack] = true
	l.running.Go(func() {
		if current := l.unanswered(stack); current != nil {
			l.answer(stack, current)
		}
		l.done(stack)
	})
}

// unanswered returns the Stack's pending lookup, or nil if there is none.
func (l *Lookups) unanswered(stack types.NamespacedName) *lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	if current := l.lookups[stack]; current != nil && current.found == nil {
		return current
	}
	return nil
}

// done passes the slot of a Stack to the next Stack. If the Stack has a new lookup by
// now, that lookup waits for its turn: a slot is valid for one lookup only, so that a
// Stack that changes continuously delays no other Stack.
func (l *Lookups) done(stack types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.active, stack)
	l.slots.Leave(stack)
	if current := l.lookups[stack]; current != nil && current.found == nil && l.ctx.Err() == nil && l.slots.Take(stack) {
		l.start(stack)
	}
}

func (l *Lookups) answer(stack types.NamespacedName, current *lookup) {
	ctx, cancel := context.WithTimeout(current.ctx, lookupTimeout)
	defer cancel()
	found := &Finding{}
	found.Git, found.Err = current.ask(ctx)
	found.At = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lookups[stack] != current {
		return
	}
	current.cancel()
	current.found, current.ask = found, nil
	if l.ctx.Err() == nil {
		l.wake(stack)
	}
}

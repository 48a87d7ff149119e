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
	// lookupsPerNamespace and lookupsAtOnce bound how many servers are asked at once:
	// each question is a process, and one without an answer lasts as long as it may.
	lookupsPerNamespace = 2
	lookupsAtOnce       = 8

	// lookupTimeout bounds one question with all that it takes.
	lookupTimeout = 10 * time.Second
)

// errLookup says that a server is being asked. The Stack is woken by the answer.
var errLookup = errors.New("the commit to run is being looked up")

// lookups asks the servers that teams have chosen. No worker waits for them: a
// question goes on in a goroutine of its own, its answer is kept and wakes the
// Stack. Namespaces share what may go on at once as they share the runs.
type lookups struct {
	wake    func(types.NamespacedName)
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	// mu is held for every call of slots, and so for the wakes that come of it.
	mu     sync.Mutex
	slots  *slots
	of     map[types.NamespacedName]*lookup
	active map[types.NamespacedName]bool
}

// lookup is a Stack's last question.
type lookup struct {
	question string
	ask      func(context.Context) (source.Git, error)
	ctx      context.Context
	cancel   context.CancelFunc

	// found is nil until there is an answer.
	found *finding
}

// finding is an answer: the commit to run, or why there is none.
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

// find returns the answer to a Stack's question. Without one that is good it
// returns nil and has ask called; then wake comes. Another question of the same
// Stack ends this one.
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

// forget drops what is known for a Stack, and the question that goes on.
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

// close ends all questions.
func (l *lookups) close() {
	l.cancel()
	l.running.Wait()
}

// start asks for a Stack that has a slot.
func (l *lookups) start(stack types.NamespacedName) {
	l.active[stack] = true
	l.running.Go(func() {
		if current := l.unanswered(stack); current != nil {
			l.answer(stack, current)
		}
		l.done(stack)
	})
}

// unanswered returns the Stack's question, nil if it has none.
func (l *lookups) unanswered(stack types.NamespacedName) *lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	if current := l.of[stack]; current != nil && current.found == nil {
		return current
	}
	return nil
}

// done gives the slot of a Stack to the next one. A question that the Stack has put
// meanwhile takes its turn: a slot is good for one, so that a Stack that changes all
// the time holds up nobody.
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

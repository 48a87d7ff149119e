package controller

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// runTurn is how long a run keeps another namespace from its share. What goes on
	// for longer waits for something most of its time, or does so for ever.
	runTurn = time.Minute

	// longRun is how long a run goes on undisturbed where memory is short and another
	// namespace has none.
	longRun = 5 * time.Minute

	// runsBeyond bounds the runs beyond those that may go on at once. Each needs memory
	// and a worker.
	runsBeyond = 32

	// memoryPoll is how often memory is looked at while a run waits for it: others
	// than runs take and free it, too.
	memoryPoll = 5 * time.Second
)

// look is one look at who may begin. Its slots are locked.
//
// A free slot goes to the namespace that has the fewest runs, and among equals to
// the one that had none for the longest. Any run begins while fewer than count go
// on. Each namespace that has a run or waits for one has the same share of count,
// at least one. A namespace below its share may begin a run beyond count, too, as long
// as fewer than count runs stand in its way: its own, and those of others that are within
// their share and younger than a turn.
type look struct {
	*slots

	// running counts the slots of each namespace, recent those of them that were
	// given within a turn; nextTurn is when one ceases to be, zero where none is.
	running, recent map[string]int
	nextTurn        time.Duration

	// share is what each namespace is entitled to.
	share int

	// first and further tell whether there is memory for the first run of a namespace
	// and for one beside it, nil until somebody asked.
	first, further *bool

	// short says that a run waits for memory; starved, that the first one of a
	// namespace does.
	short, starved bool
}

func (s *slots) look() *look {
	l := &look{slots: s, running: s.running(), recent: map[string]int{}}
	for stack, held := range s.held {
		if left := s.turn - time.Since(held.since); left > 0 {
			l.recent[stack.Namespace]++
			l.nextTurn = sooner(l.nextTurn, left)
		}
	}
	sharing := maps.Clone(l.running)
	for _, stack := range s.waiting {
		sharing[stack.Namespace]++
	}
	l.share = max(1, s.count/len(sharing))
	return l
}

// next returns the index of the Stack that may begin next among those that wait,
// -1 if none may.
func (l *look) next() int {
	next := -1
	for i, stack := range l.waiting {
		if !l.mayBegin(stack.Namespace) {
			continue
		}
		if next < 0 {
			next = i
			continue
		}
		best := l.waiting[next].Namespace
		fewer := l.running[stack.Namespace] - l.running[best]
		if fewer < 0 || fewer == 0 && l.last[stack.Namespace] < l.last[best] {
			next = i
		}
	}
	return next
}

func (l *look) mayBegin(namespace string) bool {
	own := l.running[namespace]
	if l.each > 0 && own >= l.each {
		return false
	}
	if len(l.held) == 0 {
		return true
	}
	free := len(l.held) < l.count || own < l.share && len(l.held) < l.count+l.beyond && l.used(namespace) < l.count
	switch {
	case !free:
		return false
	case own > 0:
		return l.hasRoom(&l.further, false)
	}
	first := l.hasRoom(&l.first, true)
	l.starved = l.starved || !first
	return first
}

// used counts the runs that keep one below the share of a namespace from going
// beyond count.
func (l *look) used(namespace string) int {
	used := l.running[namespace]
	for other, recent := range l.recent {
		if other != namespace {
			used += min(recent, l.share)
		}
	}
	return used
}

// hasRoom asks once a look whether there is memory.
func (l *look) hasRoom(known **bool, first bool) bool {
	if *known == nil {
		*known = new(l.room(first))
	}
	l.short = l.short || !**known
	return **known
}

// makeRoom stops a run in good order for a namespace that has none and waits for
// memory: the longest run of the namespace that has the most, or, where none has
// two, the longest of all once it counts as long.
func (l *look) makeRoom() {
	var victim *slot
	var of types.NamespacedName
	for stack, held := range l.held {
		if held.stopping {
			// Its memory is about to be free.
			return
		}
		if held.stop == nil || l.running[stack.Namespace] < 2 && time.Since(held.since) < longRun {
			continue
		}
		more := l.running[stack.Namespace] - l.running[of.Namespace]
		if victim == nil || more > 0 || more == 0 && held.since.Before(victim.since) {
			victim, of = held, stack
		}
	}
	if victim != nil {
		victim.stopping = true
		victim.stop()
	}
}

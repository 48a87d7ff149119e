package slots

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/operator/controller/schedule"
)

const (
	// runTurn is how long a run can keep another namespace from its share. A longer run
	// mostly waits, possibly forever.
	runTurn = time.Minute

	// longRun is the age from which the operator may stop a run when memory is short and
	// another namespace has no run.
	longRun = 5 * time.Minute

	// runsBeyond bounds the runs in addition to MaxConcurrent. Each needs memory and a
	// worker.
	runsBeyond = 32

	// memoryPoll is how often the operator checks the free memory while a run waits for
	// it. Other processes take and free memory, too.
	memoryPoll = 5 * time.Second
)

// look is one decision on which runs may begin. The lock of its slots is held.
//
// A free slot goes to the namespace with the fewest runs. If several namespaces have the
// fewest, the slot goes to the one that got its last slot the longest ago. Any run may
// begin while fewer than count runs are active. The namespaces that have a run or wait
// for one have equal shares of count, of at least one run each. A namespace below its
// share may begin a run beyond count if fewer than count runs block the namespace. Two
// kinds of runs block a namespace: its own runs, and runs of other namespaces that are
// within their namespace's share and younger than a turn.
type look struct {
	*Slots

	// running counts the slots of each namespace. recent counts only the slots that are
	// younger than a turn. nextTurn is the time until the first of the recent slots is
	// older than a turn, or zero if there are none.
	running, recent map[string]int
	nextTurn        time.Duration

	// share is the number of slots to which each namespace is entitled.
	share int

	// first says whether there is memory for the first run of a namespace, and further
	// whether there is memory for a further run of a namespace. Both are nil until the memory has been
	// checked.
	first, further *bool

	// short says that a run waits for memory. starved says that the first run of a
	// namespace waits for memory.
	short, starved bool
}

func (s *Slots) look() *look {
	l := &look{Slots: s, running: s.running(), recent: map[string]int{}}
	for stack, held := range s.held {
		if left := s.turn - time.Since(held.since); left > 0 {
			l.recent[s.of(stack)]++
			l.nextTurn = schedule.Sooner(l.nextTurn, left)
		}
	}
	sharing := maps.Clone(l.running)
	for _, stack := range s.waiting {
		sharing[s.of(stack)]++
	}
	l.share = max(1, s.count/len(sharing))
	return l
}

// next returns the index of the waiting Stack that may begin next, or -1 if none may.
func (l *look) next() int {
	next := -1
	for i, stack := range l.waiting {
		if !l.mayBegin(l.of(stack)) {
			continue
		}
		if next < 0 {
			next = i
			continue
		}
		own, best := l.of(stack), l.of(l.waiting[next])
		fewer := l.running[own] - l.running[best]
		if fewer < 0 || fewer == 0 && l.last[own] < l.last[best] {
			next = i
		}
	}
	return next
}

func (l *look) mayBegin(namespace string) bool {
	own := l.running[namespace]
	if l.perNamespace > 0 && own >= l.perNamespace {
		return false
	}
	if len(l.held) == 0 {
		return true
	}
	free := len(l.held) < l.count || own < l.share && len(l.held) < l.count+l.beyond && l.blocking(namespace) < l.count
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

// blocking counts the runs that block a run of a namespace beyond count.
func (l *look) blocking(namespace string) int {
	blocking := l.running[namespace]
	for other, recent := range l.recent {
		if other != namespace {
			blocking += min(recent, l.share)
		}
	}
	return blocking
}

// hasRoom reports whether there is memory. hasRoom checks the memory once per look.
func (l *look) hasRoom(known **bool, first bool) bool {
	if *known == nil {
		*known = new(l.room(first))
	}
	l.short = l.short || !**known
	return **known
}

// makeRoom stops a run gracefully for a namespace that has no run and waits for
// memory. makeRoom chooses the longest run of the namespace with the most runs. If no
// namespace has two, it chooses the longest run of all, if that is older than longRun.
func (l *look) makeRoom() {
	var victim *slot
	var of types.NamespacedName
	for stack, held := range l.held {
		if held.stopping {
			// This run will soon free its memory.
			return
		}
		if held.stop == nil || l.running[l.of(stack)] < 2 && time.Since(held.since) < longRun {
			continue
		}
		more := l.running[l.of(stack)] - l.running[l.of(of)]
		if victim == nil || more > 0 || more == 0 && held.since.Before(victim.since) {
			victim, of = held, stack
		}
	}
	if victim != nil {
		victim.stopping = true
		victim.stop()
	}
}

// Package slots bounds the concurrent runs by number and by memory, and shares them among the namespaces.
package slots

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/operator/controller/schedule"
)

// Slots bounds the concurrent runs by number and by memory, and shares them among the
// namespaces. The rules are in share.go.
//
// While there is memory, Slots guarantees that runs beyond a namespace's share never
// delay another namespace, and that runs within the share delay another namespace for
// at most one turn, a minute.
type Slots struct {
	// count is how many runs may be active. Runs within their namespace's share may be
	// active in addition, up to beyond.
	count, beyond int

	// perNamespace is how many slots one namespace may have. Zero means no limit.
	perNamespace int

	// party returns whose share a Stack's run takes: a namespace. Nil means the Stack's own.
	party func(types.NamespacedName) string

	// turn is how long a run can keep another namespace from its share.
	turn time.Duration

	// room reports whether there is memory for one more run. first says that the run is the
	// first of its namespace. If no run is active, Slots does not call room.
	room func(first bool) bool

	// wake is called with each Stack that gets a slot after waiting for it.
	wake func(types.NamespacedName)

	mu      sync.Mutex
	held    map[types.NamespacedName]*slot
	waiting []types.NamespacedName

	// turns counts the slots given so far. last holds the value of turns at which each
	// namespace last got one.
	turns int
	last  map[string]int

	// timer calls check when the next waiting run may begin although no run has ended.
	timer  *time.Timer
	closed bool
}

// slot is the slot of a Stack.
type slot struct {
	since time.Time

	// stop stops the run gracefully. A slot without a run to stop has a nil stop.
	stop func()

	// stopping says that stop has been called.
	stopping bool

	// spare says that the slot's run gives way to every waiting run.
	spare bool
}

// New returns Slots for at most count concurrent runs, and for at most perNamespace of them in one namespace. A perNamespace
// of zero sets no limit for a namespace. room reports whether there is memory for one more run; its argument first says that
// the run is the first of its namespace. Slots calls wake with each Stack that gets a slot after a wait.
func New(count, perNamespace int, room func(first bool) bool, wake func(types.NamespacedName)) *Slots {
	return &Slots{count: count, perNamespace: perNamespace, room: room, wake: wake, held: map[types.NamespacedName]*slot{}, last: map[string]int{}}
}

// ForRuns returns Slots for count concurrent runs of Programs. memory is the memory that one run needs, in bytes. Up to 32
// further runs may be active, each within the share of its namespace. Slots calls wake with each Stack that gets a slot after
// a wait. party returns the namespace whose share a Stack's run takes, so that what a namespace runs for others counts as
// theirs.
func ForRuns(count int, memory int64, party func(types.NamespacedName) string, wake func(types.NamespacedName)) *Slots {
	s := forRuns(count, roomFor(memory), wake)
	s.party = party
	return s
}

// of returns the namespace whose share a Stack's run takes.
func (s *Slots) of(stack types.NamespacedName) string {
	if s.party == nil {
		return stack.Namespace
	}
	return s.party(stack)
}

func forRuns(count int, room func(first bool) bool, wake func(types.NamespacedName)) *Slots {
	s := New(count, 0, room, wake)
	s.beyond, s.turn = runsBeyond, runTurn
	return s
}

// Max returns the maximum number of concurrent runs.
func (s *Slots) Max() int { return s.count + s.beyond }

// Take gives the Stack a slot and returns true. If no slot is free, Take adds the Stack to
// the waiting Stacks and returns false, and wake reports the slot later. A Stack that has a
// slot keeps it.
func (s *Slots) Take(stack types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[stack] != nil {
		return true
	}
	if !slices.Contains(s.waiting, stack) {
		s.waiting = append(s.waiting, stack)
	}
	for _, other := range s.give() {
		if other != stack {
			s.wake(other)
		}
	}
	return s.held[stack] != nil
}

// Stoppable sets the function that stops the run of a Stack's slot.
func (s *Slots) Stoppable(stack types.NamespacedName, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.held[stack]; held != nil {
		held.stop, held.since = stop, time.Now()
	}
}

// Has reports whether the Stack has a slot or waits for one.
func (s *Slots) Has(stack types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[stack] != nil || slices.Contains(s.waiting, stack)
}

// Leave releases a Stack's slot or its place in the queue.
func (s *Slots) Leave(stack types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[stack] == nil && !slices.Contains(s.waiting, stack) {
		return
	}
	delete(s.held, stack)
	s.waiting = slices.DeleteFunc(s.waiting, func(other types.NamespacedName) bool { return other == stack })
	s.giveAndWake()
	if len(s.waiting) == 0 {
		// While nobody waits, the order of namespaces without runs does not matter.
		maps.DeleteFunc(s.last, func(namespace string, _ int) bool { return s.running()[namespace] == 0 })
	}
}

// Busy returns the number of runs with a slot and the number of waiting runs.
func (s *Slots) Busy() (running, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held), len(s.waiting)
}

// Close stops the timer.
func (s *Slots) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// check gives out slots to the runs whose turn has come since the last run ended.
func (s *Slots) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.giveAndWake()
	}
}

func (s *Slots) giveAndWake() {
	for _, stack := range s.give() {
		s.wake(stack)
	}
}

// give gives out free slots and returns the Stacks that got one.
func (s *Slots) give() []types.NamespacedName {
	var given []types.NamespacedName
	for len(s.waiting) > 0 {
		look := s.look()
		next := look.next()
		if next < 0 {
			s.endSpare()
			s.scheduleCheck(look)
			break
		}
		stack := s.waiting[next]
		s.waiting = slices.Delete(s.waiting, next, next+1)
		s.held[stack] = &slot{since: time.Now()}
		s.turns++
		s.last[s.of(stack)] = s.turns
		given = append(given, stack)
	}
	return given
}

// running counts the slots of each namespace.
func (s *Slots) running() map[string]int {
	running := map[string]int{}
	for stack := range s.held {
		running[s.of(stack)]++
	}
	return running
}

// scheduleCheck makes room for a namespace that waits for memory, and schedules check for
// the time when a waiting run may begin.
func (s *Slots) scheduleCheck(look *look) {
	if s.beyond == 0 || s.closed {
		return
	}
	if look.starved {
		look.makeRoom()
	}
	after := look.nextTurn
	if look.short {
		after = schedule.Sooner(after, memoryPoll)
	}
	if after == 0 {
		return
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(after, s.check)
		return
	}
	s.timer.Reset(after)
}

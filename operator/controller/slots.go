package controller

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// slots bounds the runs that go on at once, by their number and by memory, and
// shares them among the namespaces. share.go has the rules.
//
// The guarantee, while there is memory: runs beyond another namespace's share never
// delay a namespace, and runs within that share delay it for at most a turn.
type slots struct {
	// count is how many runs may go on at once. Runs within their namespace's share
	// may go on beside them, as many as beyond says.
	count, beyond int

	// each is how many slots one namespace may have; zero is no bound.
	each int

	// turn is how long a run keeps another namespace from its share.
	turn time.Duration

	// room tells whether memory is left for one more run: for the first one of its
	// namespace, or for one beside it. The only run of all never asks.
	room func(first bool) bool

	// wake is told which Stack got a slot that it waited for.
	wake func(types.NamespacedName)

	mu      sync.Mutex
	held    map[types.NamespacedName]*slot
	waiting []types.NamespacedName

	// turns counts the slots given so far, last when each namespace got one.
	turns int
	last  map[string]int

	// again looks again at who waits, once time alone may have made a difference.
	again  *time.Timer
	closed bool
}

// slot is what a Stack holds.
type slot struct {
	since time.Time

	// stop stops the run in good order, nil where there is none to be stopped.
	stop func()

	// stopping says that stop was called.
	stopping bool
}

// newSlots makes count slots. No namespace gets one beyond count.
func newSlots(count int, room func(first bool) bool, wake func(types.NamespacedName)) *slots {
	return &slots{count: count, room: room, wake: wake, held: map[types.NamespacedName]*slot{}, last: map[string]int{}}
}

// take gives the Stack a slot, or lets it wait for one; then wake comes.
func (s *slots) take(stack types.NamespacedName) bool {
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

// stoppable says how to stop the run that a Stack has its slot for.
func (s *slots) stoppable(stack types.NamespacedName, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.held[stack]; held != nil {
		held.stop, held.since = stop, time.Now()
	}
}

// has tells whether the Stack has a slot or waits for one.
func (s *slots) has(stack types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[stack] != nil || slices.Contains(s.waiting, stack)
}

// leave gives a Stack's slot back, or its place among those that wait.
func (s *slots) leave(stack types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[stack] == nil && !slices.Contains(s.waiting, stack) {
		return
	}
	delete(s.held, stack)
	s.waiting = slices.DeleteFunc(s.waiting, func(other types.NamespacedName) bool { return other == stack })
	s.giveAndWake()
	if len(s.waiting) == 0 {
		// Where nobody waits, whose turn it is does not matter.
		maps.DeleteFunc(s.last, func(namespace string, _ int) bool { return s.running()[namespace] == 0 })
	}
}

// busy returns how many runs have a slot and how many wait for one.
func (s *slots) busy() (running, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held), len(s.waiting)
}

// close keeps time from giving slots.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.again != nil {
		s.again.Stop()
	}
}

// check gives what time has made free.
func (s *slots) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.giveAndWake()
	}
}

func (s *slots) giveAndWake() {
	for _, stack := range s.give() {
		s.wake(stack)
	}
}

// give hands out what is free and returns who got it.
func (s *slots) give() []types.NamespacedName {
	var given []types.NamespacedName
	for len(s.waiting) > 0 {
		look := s.look()
		next := look.next()
		if next < 0 {
			s.lookAgain(look)
			break
		}
		stack := s.waiting[next]
		s.waiting = slices.Delete(s.waiting, next, next+1)
		s.held[stack] = &slot{since: time.Now()}
		s.turns++
		s.last[stack.Namespace] = s.turns
		given = append(given, stack)
	}
	return given
}

// running counts the slots of each namespace.
func (s *slots) running() map[string]int {
	running := map[string]int{}
	for stack := range s.held {
		running[stack.Namespace]++
	}
	return running
}

// lookAgain makes room for those that wait for memory, and has check called when
// the passing of time may let one of those that wait begin.
func (s *slots) lookAgain(look *look) {
	if s.beyond == 0 || s.closed {
		return
	}
	if look.starved {
		look.makeRoom()
	}
	after := look.nextTurn
	if look.short {
		after = sooner(after, memoryPoll)
	}
	if after == 0 {
		return
	}
	if s.again == nil {
		s.again = time.AfterFunc(after, s.check)
		return
	}
	s.again.Reset(after)
}

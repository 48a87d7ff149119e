package controller

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// slots bounds the runs that go on at once, by their number and by memory, and
// shares them fairly: a free one goes to the namespace that has the fewest runs,
// and among equals to the one that had none for the longest.
type slots struct {
	// count is how many runs may go on at once.
	count int

	// each is how many of them one namespace may have; zero is no bound.
	each int

	// room tells whether memory is left for one more run. The first run never asks.
	room func() bool

	// wake is told which Stack got a slot that it waited for.
	wake func(types.NamespacedName)

	mu      sync.Mutex
	held    map[types.NamespacedName]bool
	waiting []types.NamespacedName

	// turns counts the slots given so far, last when each namespace got one.
	turns int
	last  map[string]int
}

func newSlots(count int, room func() bool, wake func(types.NamespacedName)) *slots {
	return &slots{count: count, room: room, wake: wake, held: map[types.NamespacedName]bool{}, last: map[string]int{}}
}

// take gives the Stack a slot, or lets it wait for one; then wake comes.
func (s *slots) take(stack types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[stack] {
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
	return s.held[stack]
}

// has tells whether the Stack has a slot or waits for one.
func (s *slots) has(stack types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[stack] || slices.Contains(s.waiting, stack)
}

// leave gives a Stack's slot back, or its place among those that wait.
func (s *slots) leave(stack types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held[stack] && !slices.Contains(s.waiting, stack) {
		return
	}
	delete(s.held, stack)
	s.waiting = slices.DeleteFunc(s.waiting, func(other types.NamespacedName) bool { return other == stack })
	for _, other := range s.give() {
		s.wake(other)
	}
}

// busy returns how many runs have a slot and how many wait for one.
func (s *slots) busy() (running, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held), len(s.waiting)
}

// give hands out what is free and returns who got it.
func (s *slots) give() []types.NamespacedName {
	var given []types.NamespacedName
	for len(s.waiting) > 0 && len(s.held) < s.count && (len(s.held) == 0 || s.room()) {
		running := map[string]int{}
		for stack := range s.held {
			running[stack.Namespace]++
		}
		next := -1
		for i, stack := range s.waiting {
			if s.each > 0 && running[stack.Namespace] >= s.each {
				continue
			}
			if next < 0 {
				next = i
				continue
			}
			best := s.waiting[next].Namespace
			fewer := running[stack.Namespace] - running[best]
			if fewer < 0 || fewer == 0 && s.last[stack.Namespace] < s.last[best] {
				next = i
			}
		}
		if next < 0 {
			break
		}
		stack := s.waiting[next]
		s.waiting = slices.Delete(s.waiting, next, next+1)
		s.held[stack] = true
		s.turns++
		s.last[stack.Namespace] = s.turns
		given = append(given, stack)
	}
	return given
}

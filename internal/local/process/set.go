package process

import (
	"slices"
	"strings"
	"sync"
)

// Set starts programs that their owner restarts by rules of its own, and knows how they are. The zero value is ready to
// use.
type Set struct {
	mu      sync.Mutex
	records map[string]*record
}

// Start starts a program as the function Start does. name is what its State calls it: a program of the same name as an
// earlier one is that program, started again. What is known of it stays in the set until Forget.
func (s *Set) Start(name string, spec Spec) (*Process, error) {
	s.mu.Lock()
	if s.records == nil {
		s.records = map[string]*record{}
	}
	r := s.records[name]
	if r == nil {
		r = newRecord(name, spec)
		s.records[name] = r
	}
	s.mu.Unlock()
	p, err := r.start(spec)
	if err != nil {
		return nil, err
	}
	go func() {
		<-p.Done()
		r.end(p)
	}()
	return p, nil
}

// Forget drops a program that is not started again.
func (s *Set) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, name)
}

// States tells how the programs are, in the order of their names.
func (s *Set) States() []State {
	s.mu.Lock()
	var states []State
	for _, r := range s.records {
		states = append(states, r.get())
	}
	s.mu.Unlock()
	slices.SortFunc(states, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return states
}

package process

import (
	"slices"
	"strings"
	"sync"
)

// Set starts programs and keeps their states. The owners of the programs restart them by rules of their own. The zero
// value is ready to use.
type Set struct {
	mu      sync.Mutex
	records map[string]*record
}

// Start starts a program like the function Start. name identifies the program: starting a name again is a restart. The
// set keeps the program's state until Forget.
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

// Forget removes a program that its owner does not restart.
func (s *Set) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, name)
}

// States returns the states of the programs, sorted by name.
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

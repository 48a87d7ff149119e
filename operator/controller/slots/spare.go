package slots

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TakeSpare gives the Stack a slot for a run that gives way to every other one. It returns false if no slot is free or a run
// waits for one; the Stack does not wait then. Slots calls stop once, when another run needs the slot.
func (s *Slots) TakeSpare(stack types.NamespacedName, stop func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[stack] != nil || len(s.waiting) > 0 || len(s.held) >= s.count || len(s.held) > 0 && !s.room(false) {
		return false
	}
	s.held[stack] = &slot{since: time.Now(), stop: stop, spare: true}
	return true
}

// endSpare stops the spare runs, for a waiting run.
func (s *Slots) endSpare() {
	for _, held := range s.held {
		if held.spare && !held.stopping {
			held.stopping = true
			held.stop()
		}
	}
}

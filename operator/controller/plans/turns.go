package plans

import (
	"maps"
	"sync"
	"time"
)

const (
	// stillWaiting is how long after its last attempt a namespace counts as waiting for a slot. It is longer than the wait between two
	// attempts.
	stillWaiting = 3 * retry

	// forget is how long a namespace is remembered after its last turn.
	forget = time.Hour
)

// turns lets the namespaces take turns with free slots: a namespace with many Plans does not keep others waiting for more than one
// preview. The zero value is ready to use.
type turns struct {
	mu sync.Mutex

	// waiting maps each namespace that waits to the time of its last attempt, and served to that of its last turn.
	waiting, served map[string]time.Time
}

// may reports whether it is a namespace's turn. Otherwise the namespace waits.
func (t *turns) may(namespace string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other, since := range t.waiting {
		if other != namespace && now.Sub(since) < stillWaiting && t.served[other].Before(t.served[namespace]) {
			t.wait(namespace, now)
			return false
		}
	}
	return true
}

// missed records that a namespace has found no slot.
func (t *turns) missed(namespace string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait(namespace, now)
}

func (t *turns) wait(namespace string, now time.Time) {
	if t.waiting == nil {
		t.waiting = map[string]time.Time{}
	}
	t.waiting[namespace] = now
}

// took records that a namespace has a slot.
func (t *turns) took(namespace string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.served == nil {
		t.served = map[string]time.Time{}
	}
	delete(t.waiting, namespace)
	maps.DeleteFunc(t.waiting, func(_ string, since time.Time) bool { return now.Sub(since) >= stillWaiting })
	maps.DeleteFunc(t.served, func(_ string, since time.Time) bool { return now.Sub(since) >= forget })
	t.served[namespace] = now
}

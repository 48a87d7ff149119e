// Package turns lets namespaces take turns with free slots.
package turns

import (
	"maps"
	"sync"
	"time"
)

const (
	// Retry is the wait between two attempts of a namespace.
	Retry = time.Second

	// stillWaiting is how long after its last attempt a namespace counts as waiting for a slot.
	stillWaiting = 3 * Retry

	// forget is how long a namespace is remembered after its last turn.
	forget = time.Hour
)

// Turns lets the namespaces take turns: a namespace with many Plans does not keep others waiting for more than one
// preview. The zero value is ready to use.
type Turns struct {
	mu sync.Mutex

	// waiting maps each namespace that waits to the time of its last attempt, and served to that of its last turn.
	waiting, served map[string]time.Time
}

// May reports whether it is a namespace's turn. Otherwise the namespace waits.
func (t *Turns) May(namespace string, now time.Time) bool {
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

// Missed records that a namespace has found no slot.
func (t *Turns) Missed(namespace string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait(namespace, now)
}

func (t *Turns) wait(namespace string, now time.Time) {
	if t.waiting == nil {
		t.waiting = map[string]time.Time{}
	}
	t.waiting[namespace] = now
}

// Took records that a namespace has a slot.
func (t *Turns) Took(namespace string, now time.Time) {
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

package turns

import (
	"testing"
	"time"
)

func TestANamespaceThatWaitsLongerComesFirst(t *testing.T) {
	now := time.Now()
	var turns Turns
	is := func(namespace string, want bool) {
		t.Helper()
		if got := turns.May(namespace, now); got != want {
			t.Errorf("%s has its turn: %t, want %t", namespace, got, want)
		}
	}
	is("many", true)
	turns.Took("many", now)
	is("many", true)
	// Another namespace finds no slot while the first one uses it.
	turns.Missed("other", now)
	is("many", false)
	is("other", true)
	now = now.Add(time.Second)
	turns.Took("other", now)
	is("other", false)
	is("many", true)
	// A namespace that no longer tries does not keep the others waiting.
	turns.Missed("gone", now)
	now = now.Add(stillWaiting)
	is("many", true)
	turns.Took("many", now)
	if len(turns.waiting) != 0 {
		t.Errorf("%v still wait", turns.waiting)
	}
}

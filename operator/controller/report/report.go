// Package report bounds the size and number of the texts about Stacks that the operator writes.
package report

import (
	"maps"
	"strings"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/client-go/tools/events"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// Conditions, events and log lines about a Stack contain names and messages of its
// team. The API server's database and the operator's log store them, and all teams
// share both. So the size and number of these texts are bounded.
const (
	// LongestMessage bounds a message in a status, in bytes. The API server rejects the
	// whole status if a message is longer than 32768 bytes.
	LongestMessage = 8 << 10

	// LongestNote bounds an event and a line of the log, in bytes. The API server rejects
	// events longer than 1024 bytes.
	LongestNote = 1000

	// eventBurst and eventRate (per second) bound the events of a namespace. An event
	// takes a kilobyte, and the API server keeps it for an hour.
	eventBurst = 100
	eventRate  = 0.5
)

// Cut shortens a text to longest bytes and appends an ellipsis.
func Cut(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}

// Bound shortens the messages of a status to LongestMessage.
func Bound(status *v1.StackStatus) {
	for i := range status.Conditions {
		status.Conditions[i].Message = Cut(status.Conditions[i].Message, LongestMessage)
	}
	if status.LastUpdate != nil {
		status.LastUpdate.Message = Cut(status.LastUpdate.Message, LongestMessage)
	}
}

// Error is an error whose message is at most LongestNote long, for the log. Unwrap returns the whole error.
type Error struct{ Err error }

// Error implements error.
func (e Error) Error() string { return Cut(e.Err.Error(), LongestNote) }

// Unwrap returns the whole error.
func (e Error) Unwrap() error { return e.Err }

// Events creates events on Stacks, within a rate for each namespace.
type Events struct {
	recorder events.EventRecorder

	mu sync.Mutex

	// limiters maps namespaces to their limits.
	limiters map[string]*rate.Limiter
}

// NewEvents returns Events that the recorder writes.
func NewEvents(recorder events.EventRecorder) *Events {
	return &Events{recorder: recorder, limiters: map[string]*rate.Limiter{}}
}

// Add creates an event on a Stack unless the Stack's namespace has exceeded its rate. kind is Normal or Warning. The status
// contains every important message, too, so a missing event loses none.
func (e *Events) Add(stack *v1.Stack, kind, reason, message string) {
	if e.allow(stack.Namespace) {
		e.recorder.Eventf(stack, nil, kind, reason, "Reconcile", "%s", Cut(message, LongestNote))
	}
}

func (e *Events) allow(namespace string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.limiters[namespace] == nil {
		// A limiter with a full burst behaves like a new one.
		maps.DeleteFunc(e.limiters, func(_ string, other *rate.Limiter) bool { return other.Tokens() >= eventBurst })
		e.limiters[namespace] = rate.NewLimiter(eventRate, eventBurst)
	}
	return e.limiters[namespace].Allow()
}

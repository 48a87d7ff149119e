package controller

import (
	"maps"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// Conditions, events and log lines about a Stack contain names and messages of its
// team. The API server's database and the operator's log store them, and all teams
// share both. So the size and number of these texts are bounded.
const (
	// longestMessage bounds a message in a status, in bytes. The API server rejects the
	// whole status if a message is longer than 32768 bytes.
	longestMessage = 8 << 10

	// longestNote bounds an event and a line of the log, in bytes. The API server rejects
	// events longer than 1024 bytes.
	longestNote = 1000

	// eventBurst and eventRate (per second) bound the events of a namespace. An event
	// takes a kilobyte, and the API server keeps it for an hour.
	eventBurst = 100
	eventRate  = 0.5
)

// cut shortens a text to longest bytes and appends an ellipsis.
func cut(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}

// boundMessages shortens the messages of a status.
func boundMessages(status *v1.StackStatus) {
	for i := range status.Conditions {
		status.Conditions[i].Message = cut(status.Conditions[i].Message, longestMessage)
	}
	if status.LastUpdate != nil {
		status.LastUpdate.Message = cut(status.LastUpdate.Message, longestMessage)
	}
}

// bounded is an error with a shortened message for the log.
type bounded struct{ error }

// Error implements error.
func (b bounded) Error() string { return cut(b.error.Error(), longestNote) }

// Unwrap returns the whole error.
func (b bounded) Unwrap() error { return b.error }

// event creates an event unless its namespace has exceeded its rate. The status has
// everything that matters, too.
func (s *session) event(kind, reason, message string) {
	if s.events.allow(s.stack.Namespace) {
		s.recorder.Eventf(s.stack, nil, kind, reason, "Reconcile", "%s", cut(message, longestNote))
	}
}

// eventLimits bounds the events of each namespace.
type eventLimits struct {
	mu sync.Mutex
	of map[string]*rate.Limiter
}

func (l *eventLimits) allow(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[namespace] == nil {
		// A limiter with a full burst behaves like a new one.
		maps.DeleteFunc(l.of, func(_ string, other *rate.Limiter) bool { return other.Tokens() >= eventBurst })
		if l.of == nil {
			l.of = map[string]*rate.Limiter{}
		}
		l.of[namespace] = rate.NewLimiter(eventRate, eventBurst)
	}
	return l.of[namespace].Allow()
}

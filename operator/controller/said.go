package controller

import (
	"maps"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// What is said of a Stack is made of its team's names and messages, and lands in
// what all teams share: the API server's database and the operator's log.
const (
	// longestMessage bounds a message in a status, in bytes. The API server refuses the
	// whole status with one beyond 32768.
	longestMessage = 8 << 10

	// longestNote bounds an event, which the API server refuses beyond 1024 bytes, and
	// a line of the log.
	longestNote = 1000

	// eventBurst and eventRate, a second, bound the events of a namespace. One is a
	// kilobyte, which the API server keeps for an hour.
	eventBurst = 100
	eventRate  = 0.5
)

// cut shortens a text to so many bytes and what says that it goes on.
func cut(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}

// boundMessages shortens what a status says.
func boundMessages(status *v1.StackStatus) {
	for i := range status.Conditions {
		status.Conditions[i].Message = cut(status.Conditions[i].Message, longestMessage)
	}
	if status.LastUpdate != nil {
		status.LastUpdate.Message = cut(status.LastUpdate.Message, longestMessage)
	}
}

// bounded is an error as the log is to have it.
type bounded struct{ error }

// Error implements error.
func (b bounded) Error() string { return cut(b.error.Error(), longestNote) }

// Unwrap returns the whole error.
func (b bounded) Unwrap() error { return b.error }

// event makes an event, unless its namespace has had too many of late. What counts
// is in the status, too.
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
		// One that has its full burst again is as good as none.
		maps.DeleteFunc(l.of, func(_ string, other *rate.Limiter) bool { return other.Tokens() >= eventBurst })
		if l.of == nil {
			l.of = map[string]*rate.Limiter{}
		}
		l.of[namespace] = rate.NewLimiter(eventRate, eventBurst)
	}
	return l.of[namespace].Allow()
}

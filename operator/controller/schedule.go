package controller

import (
	"fmt"
	"time"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

const (
	// firstRetry is the wait after the first failure. The wait doubles with each further
	// failure.
	firstRetry = 5 * time.Second

	// longestRetry bounds that wait unless the Stack sets a bound.
	longestRetry = 5 * time.Minute

	// sourceRetry is the wait before the operator checks an unavailable source again.
	// Events report changes of all sources except Git repositories.
	sourceRetry = 30 * time.Second

	// strandedRetry is the wait before the operator tries again to change a stranded
	// Stack, and so the interval of its log message.
	strandedRetry = time.Minute

	// shortestResync bounds spec.resyncFrequencySeconds.
	shortestResync = time.Minute

	// failuresToStall is how many consecutive failures make a Stack stalled.
	failuresToStall = 3
)

// version identifies the inputs of an update besides the Stack itself.
type version struct {
	// revision is the program's revision. inputs is the digest of the objects that the
	// Stack refers to.
	revision, inputs string
}

// due returns the cause if an operation on the Stack is due. Otherwise due returns an
// empty cause and the time until the next operation; zero means never.
func due(stack *v1.Stack, current version, now time.Time) (cause string, wait time.Duration) {
	last := stack.Status.LastUpdate
	switch {
	case last == nil:
		return "first update", 0
	case last.Generation != stack.Generation:
		return fmt.Sprintf("new generation %d", stack.Generation), 0
	case last.ReconcileRequest != stack.Annotations[v1.ReconcileRequestAnnotation]:
		return "asked for by annotation", 0
	case last.LastAttemptedCommit != current.revision:
		return "new revision " + current.revision, 0
	case last.Inputs != current.inputs:
		return "a ConfigMap or Secret that it refers to has changed", 0
	}
	var at time.Duration
	var why string
	switch {
	case last.Reason != "":
		return "", 0
	case last.State == v1.FailedStackStateMessage:
		at, why = backoff(stack), fmt.Sprintf("retry after %d failures", last.Failures+1)
	case stack.Spec.ContinueResyncOnCommitMatch:
		at, why = resync(stack), "periodic run"
	default:
		return "", 0
	}
	if wait = last.LastResyncTime.Add(at).Sub(now); wait > 0 {
		return "", wait
	}
	return why, 0
}

// resync is how often the Stack checks for changes that no event reports.
func resync(stack *v1.Stack) time.Duration {
	return max(shortestResync, time.Duration(stack.Spec.ResyncFrequencySeconds)*time.Second)
}

// sooner returns the shorter of two waits. Zero means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// backoff returns the wait after the last failure.
func backoff(stack *v1.Stack) time.Duration {
	longest := longestRetry
	if seconds := stack.Spec.RetryMaxBackoffDurationSeconds; seconds > 0 {
		longest = time.Duration(seconds) * time.Second
	}
	wait := firstRetry
	for range stack.Status.LastUpdate.Failures {
		if wait *= 2; wait >= longest {
			break
		}
	}
	return min(wait, longest)
}

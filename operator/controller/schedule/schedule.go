// Package schedule decides when an operation on a Stack is due.
package schedule

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

	// SourceRetry is the wait before the operator checks an unavailable source again.
	// Events report changes of all sources except Git repositories.
	SourceRetry = 30 * time.Second

	// StrandedRetry is the wait before the operator tries again to change a stranded
	// Stack, and so the interval of its log message.
	StrandedRetry = time.Minute

	// shortestResync bounds spec.resyncFrequencySeconds.
	shortestResync = time.Minute

	// FailuresToStall is how many consecutive failures make a Stack stalled.
	FailuresToStall = 3
)

// Version identifies the inputs of an update besides the Stack itself.
type Version struct {
	// Revision is the program's revision. Inputs is the digest of the objects that the
	// Stack refers to.
	Revision, Inputs string
}

// Due returns a cause, for messages, if an operation on the Stack is due. Otherwise Due
// returns an empty cause and the time until the next operation; zero means that only a
// change makes an operation due.
func Due(stack *v1.Stack, current Version, now time.Time) (cause string, wait time.Duration) {
	last := stack.Status.LastUpdate
	switch {
	case last == nil:
		return "first update", 0
	case last.Generation != stack.Generation:
		return fmt.Sprintf("new generation %d", stack.Generation), 0
	case last.ReconcileRequest != stack.Annotations[v1.ReconcileRequestAnnotation]:
		return "requested by annotation", 0
	case last.LastAttemptedCommit != current.Revision:
		return "new revision " + current.Revision, 0
	case last.Inputs != current.Inputs:
		return "a ConfigMap or Secret that it refers to has changed", 0
	}
	var at time.Duration
	var why string
	switch {
	case last.Reason != "":
		return "", 0
	case last.State == v1.FailedStackStateMessage:
		at, why = Backoff(stack), fmt.Sprintf("retry after %d failures", last.Failures+1)
	case stack.Spec.Refresh && !stack.Spec.ExpectNoRefreshChanges && drifted(stack.Status.Drift, last):
		return "repair of drift", 0
	case stack.Spec.ContinueResyncOnCommitMatch:
		at, why = Resync(stack), "periodic run"
	default:
		return "", 0
	}
	if wait = last.LastResyncTime.Add(at).Sub(now); wait > 0 {
		return "", wait
	}
	return why, 0
}

// drifted reports whether a check after the last update has found drift.
func drifted(found *v1.StackDrift, last *v1.StackUpdateState) bool {
	return found != nil && found.Message == "" && len(found.Resources) > 0 && !found.Time.Before(&last.LastResyncTime)
}

// Resync returns the interval at which the operator checks a Stack for changes that no event reports.
func Resync(stack *v1.Stack) time.Duration {
	return max(shortestResync, time.Duration(stack.Spec.ResyncFrequencySeconds)*time.Second)
}

// Sooner returns the shorter of two waits. Zero means never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Backoff returns the wait before the operation after a failed one. The Stack must have a last update.
func Backoff(stack *v1.Stack) time.Duration {
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

package status

import (
	"slices"
	"strings"
	"time"
)

// lastingTime is how long a cause must persist before waiting counts as useless. Flux retries every five seconds, so it
// has tried the latest push by then.
const lastingTime = 20 * time.Second

// triedTime is the same duration for causes with increasing retry intervals, which may have been solved since the last
// retry: a Stack whose runs have failed repeatedly, and a failing look.
const triedTime = time.Minute

// Reasons of items of layer 1 that targets set.
const (
	// ReasonNeverMade is for a layer that has never run.
	ReasonNeverMade = reasonNeverMade
	// ReasonAccessDenied is for a cluster that answers, but denies the engineer access.
	ReasonAccessDenied = "AccessDenied"
)

// updateFailed is the reason of a Stack whose runs have failed repeatedly (operator/api/v1, StalledUpdateFailedReason).
const updateFailed = "UpdateFailed"

// lastingReasons are reasons that waiting does not resolve. Those of Stacks are operator/api/v1's.
var lastingReasons = []string{
	reasonSuspended, reasonScaledDown, "BuildFailed", "SpecInvalid", "TypeNotAllowed", "TooLarge", reasonKept, updateFailed,
	ReasonNeverMade, ReasonAccessDenied, "InvalidImageName",
}

// lasting decides whether waiting can solve the root cause of a platform that is not ready. Its zero value is ready for
// use.
type lasting struct {
	cause string
	since time.Time
}

// stands reports whether the report's root cause has persisted for long enough, and is one that waiting does not solve.
// As long as a source has not fetched its latest commit, the root cause may belong to an older commit, and stands returns
// false.
func (l *lasting) stands(report Report, now time.Time) bool {
	cause, found := report.RootCause()
	if !found || !lasts(cause) || slices.ContainsFunc(report.Items, isBehind) {
		*l = lasting{}
		return false
	}
	if cause.Reason == updateFailed {
		return l.stood(cause.String(), now) >= triedTime
	}
	return l.stood(cause.String(), now) >= lastingTime
}

// fails reports whether looking has failed for long enough, always with the same error.
func (l *lasting) fails(err error, now time.Time) bool { return l.stood(err.Error(), now) >= triedTime }

// stood returns how long a cause has persisted.
func (l *lasting) stood(cause string, now time.Time) time.Duration {
	if l.cause != cause {
		*l = lasting{cause, now}
	}
	return now.Sub(l.since)
}

func lasts(cause Item) bool {
	return slices.Contains(lastingReasons, cause.Reason) ||
		cause.Reason == "ReconciliationFailed" && strings.Contains(cause.Message, "is refused at admission")
}

// isBehind reports whether an item is a source that has not fetched the latest push.
func isBehind(i Item) bool {
	return strings.HasSuffix(i.Kind, "Repository") && !i.Ready && !slices.Contains(lastingReasons, i.Reason)
}

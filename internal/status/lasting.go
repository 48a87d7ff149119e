package status

import (
	"slices"
	"strings"
	"time"
)

// lastingTime is how long a cause must stand before it is taken for one that no waiting mends. Flux tries again every
// five seconds, so that what was pushed last has been tried by then.
const lastingTime = 20 * time.Second

// triedTime is the same for what is tried again, ever more rarely, and may have been mended since: a Stack whose runs have
// failed repeatedly, and a look that fails.
const triedTime = time.Minute

// Reasons that targets give to items of layer 1.
const (
	// ReasonNeverMade is for a layer that was not run yet.
	ReasonNeverMade = reasonNeverMade
	// ReasonAccessDenied is for a cluster that answers, and does not let the engineer in.
	ReasonAccessDenied = "AccessDenied"
)

// updateFailed is the reason of a Stack whose runs have failed repeatedly (operator/api/v1, StalledUpdateFailedReason).
const updateFailed = "UpdateFailed"

// lastingReasons are reasons that waiting does not resolve. Those of Stacks are operator/api/v1's.
var lastingReasons = []string{
	reasonSuspended, reasonScaledDown, "BuildFailed", "SpecInvalid", "TypeNotAllowed", "TooLarge", reasonKept, updateFailed,
	ReasonNeverMade, ReasonAccessDenied, "InvalidImageName",
}

// lasting finds out whether the root cause of a platform that is not ready goes away by waiting. Its zero value is ready
// for use.
type lasting struct {
	cause string
	since time.Time
}

// stands tells whether the root cause of what is now reported has stood for long enough, and is one that lasts. While the
// latest commits are not fetched, it may be the one of an older commit.
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

// fails tells whether looking has failed for long enough, each time with the same error.
func (l *lasting) fails(err error, now time.Time) bool { return l.stood(err.Error(), now) >= triedTime }

// stood is how long a cause has stood.
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

// isBehind tells whether an item is a source that has not fetched the latest push.
func isBehind(i Item) bool {
	return strings.HasSuffix(i.Kind, "Repository") && !i.Ready && !slices.Contains(lastingReasons, i.Reason)
}

package local

import (
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/status"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// lastingTime is how long a cause must stand before it is taken for one that no waiting mends. Flux tries again every
// five seconds, so that what was pushed last has been tried by then.
const lastingTime = 20 * time.Second

// triedTime is the same for a Stack whose runs have failed repeatedly. It is tried again, ever more rarely, and what failed
// may have been mended since.
const triedTime = time.Minute

const updateFailed = pulumiv1.StalledUpdateFailedReason

// Causes that only somebody's hand takes away.
var lastingReasons = []string{"Suspended", "ScaledToZero", "BuildFailed", "SpecInvalid", "TypeNotAllowed", "CannotBeDestroyed", updateFailed}

// lasting finds out whether the root cause of a platform that is not ready goes away by waiting.
type lasting struct {
	cause string
	since time.Time
}

// stands tells whether the root cause of what is now reported has stood for long enough, and is one that lasts. While the
// latest commits are not fetched, it may be the one of an older commit.
func (l *lasting) stands(report status.Report, now time.Time) bool {
	cause, found := report.RootCause()
	if !found || !lasts(cause) || slices.ContainsFunc(report.Items, onItsWay) {
		*l = lasting{}
		return false
	}
	if l.cause != cause.String() {
		*l = lasting{cause.String(), now}
	}
	if cause.Reason == updateFailed {
		return now.Sub(l.since) >= triedTime
	}
	return now.Sub(l.since) >= lastingTime
}

func lasts(cause status.Item) bool {
	return slices.Contains(lastingReasons, cause.Reason) ||
		cause.Reason == "ReconciliationFailed" && strings.Contains(cause.Message, "is refused at admission")
}

// onItsWay tells whether an item is a source that has not caught up with what was pushed.
func onItsWay(i status.Item) bool {
	return strings.HasSuffix(i.Kind, "Repository") && !i.Ready && !slices.Contains(lastingReasons, i.Reason)
}

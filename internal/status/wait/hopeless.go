package wait

import (
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/status"
)

// persistTime is the duration after which a persistent cause ends the wait. Flux retries every five seconds, so it has
// tried the latest push by then.
const persistTime = 20 * time.Second

// retriedTime is the same duration for causes whose retry intervals grow: a Stack whose runs have failed repeatedly, and a status
// that cannot be read. Somebody may have fixed such a cause since the last retry, so it has to persist for longer.
const retriedTime = time.Minute

// askedTime is the same duration for a Stack that waits for a person. Such a cause is the root cause only if nothing is in progress any
// more, so the operator needs no more than the time to see the latest change.
const askedTime = 2 * time.Second

// updateFailed is the reason of a Stack whose runs have failed repeatedly (operator/api/v1, StalledUpdateFailedReason).
const updateFailed = "UpdateFailed"

// hopelessReasons are the reasons of failures that remain until somebody changes something. operator/api/v1 defines the reasons
// of Stacks.
var hopelessReasons = []string{
	status.ReasonSuspended, status.ReasonScaledDown, "BuildFailed", "SpecInvalid", "TypeNotAllowed", "TooLarge", status.ReasonKept, updateFailed,
	status.ReasonAwaitingApproval, status.ReasonNotCreated, status.ReasonAccessDenied, status.ReasonNothingPublished, status.ReasonNotSigned, status.ReasonRolledBack,
	"InvalidImageName", status.ReasonUnsupported,
}

// persistence measures for how long a cause has been the same. Its zero value is ready for use.
type persistence struct {
	cause string
	since time.Time
}

// isHopeless reports whether the root cause of a report is one that waiting does not remove, and has persisted for long
// enough. While a source has not fetched its latest commit, the root cause may belong to an older commit, and isHopeless
// returns false.
func (p *persistence) isHopeless(report status.Report, now time.Time) bool {
	cause, found := report.RootCause()
	if !found || !neverPasses(cause) || slices.ContainsFunc(report.Items, isBehind) {
		*p = persistence{}
		return false
	}
	lasted := p.of(cause.String(), now)
	switch {
	case cause.Reason == updateFailed:
		return lasted >= retriedTime
	case cause.AwaitsApproval():
		return lasted >= askedTime
	}
	return lasted >= persistTime
}

// fails reports whether reading the status has failed for long enough with the same error.
func (p *persistence) fails(err error, now time.Time) bool {
	return p.of(err.Error(), now) >= retriedTime
}

// of returns for how long a cause has persisted, and remembers it.
func (p *persistence) of(cause string, now time.Time) time.Duration {
	if p.cause != cause {
		*p = persistence{cause, now}
	}
	return now.Sub(p.since)
}

// neverPasses reports whether waiting does not remove a cause. Package message writes the text about admission.
func neverPasses(cause status.Item) bool {
	return slices.Contains(hopelessReasons, cause.Reason) ||
		cause.Reason == "ReconciliationFailed" && strings.HasPrefix(cause.Message, "admission policy ")
}

// isBehind reports whether an item is a source that has not fetched the latest push.
func isBehind(i status.Item) bool {
	return strings.HasSuffix(i.Kind, "Repository") && !i.Ready && !slices.Contains(hopelessReasons, i.Reason)
}

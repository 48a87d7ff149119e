package query

import (
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/ledger/record"
)

// Links say how a call or write was linked to its run.
const (
	// ByToken means that the write used a token that the operator had requested for the run.
	ByToken = "token"
	// ByReason means that the principal, the time and the request reason are those of the run. A run can send the reason of another run of
	// the same principal at the same time.
	ByReason = "reason"
	// ByTime means that the principal and the time are those of the run, or of each of several runs.
	ByTime = "time"
	// ByCommit means that Flux wrote the object from a commit.
	ByCommit = "flux"
	// Unlinked means that no recorded run of the principal was active.
	Unlinked = "none"
)

// tolerance is how far the clocks of a run and of an audit log may differ.
const tolerance = 5 * time.Second

// active reports whether a run was active at a time, or between the entries of its begin and its end: a clock that jumps changes only the
// time.
func (r *Run) active(at time.Time, seq uint64) bool {
	if r.Last > r.Seq && seq > r.Seq && seq < r.Last {
		return true
	}
	return !at.Before(r.Began.Add(-tolerance)) && (r.Ended.IsZero() || !at.After(r.Ended.Add(tolerance)))
}

// runsAt returns the runs of a chain that were active, without those that an unfinished run's successor has replaced.
func (b *Book) runsAt(chain string, at time.Time, seq uint64) (found []*Run) {
	for _, r := range b.Runs {
		if r.Chain != chain || !r.active(at, seq) {
			continue
		}
		// A run without an end was killed. It ended when the next run of its Stack began at the latest.
		found = slices.DeleteFunc(found, func(other *Run) bool {
			return other.Ended.IsZero() && other.Namespace == r.Namespace && other.Stack == r.Stack && other.Layer == r.Layer && r.Began.Before(at)
		})
		found = append(found, r)
	}
	return found
}

// linkCall finds the runs that may have made a call. The chain of a call is that of its principal.
func (b *Book) linkCall(c *Call) (runs []*Run, link string) {
	runs = b.runsAt(c.Chain, c.Time, c.Seq)
	for _, r := range runs {
		if c.Reason != "" && r.Reason == c.Reason {
			return []*Run{r}, ByReason
		}
	}
	if len(runs) == 0 {
		return nil, Unlinked
	}
	return runs, ByTime
}

// linkWrite finds the runs that may have written an object.
func (b *Book) linkWrite(w *Write) (runs []*Run, link string) {
	if w.Token != "" {
		for _, r := range b.Runs {
			if slices.Contains(r.Tokens, w.Token) {
				return []*Run{r}, ByToken
			}
		}
	}
	account, isAccount := strings.CutPrefix(w.User, "system:serviceaccount:")
	for _, r := range b.runsAt(w.Chain, w.Time, w.Seq) {
		if isAccount && account == r.Namespace+":"+r.Account || r.Layer != "" && r.Account == w.User {
			runs = append(runs, r)
		}
	}
	switch {
	case len(runs) > 0:
		return runs, ByTime
	case strings.HasSuffix(w.By, ":kustomize-controller"):
		return nil, ByCommit
	}
	return nil, Unlinked
}

// pushOf returns the first push that made a commit the tip of a branch or tag, and the update of it; nil if there is none.
func (b *Book) pushOf(chain, commit string) (*Push, int) {
	for _, p := range b.Pushes {
		// Layer 2 and layer 1 run from the commit that becomes that of layer 3.
		if p.Chain != chain && chain != record.Bootstrap && chain != record.Platform {
			continue
		}
		for i, u := range p.Updates {
			if commit != "" && (u.New == commit || u.Commit != nil && u.Commit.ID == commit) {
				return p, i
			}
		}
	}
	return nil, 0
}

// callsOf returns the calls of a run, as they are linked one by one.
func (b *Book) callsOf(r *Run) (found []*Call) {
	for _, c := range b.Calls {
		if c.Chain != r.Chain || !r.active(c.Time, c.Seq) {
			continue
		}
		if runs, _ := b.linkCall(c); len(runs) == 1 && runs[0] == r {
			found = append(found, c)
		}
	}
	return found
}

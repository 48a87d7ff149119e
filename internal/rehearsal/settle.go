package rehearsal

import (
	"context"
	"fmt"
	"time"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/inspect"
	"github.com/strata-platform/strata/operator/plan"
)

const (
	// lookEvery is the interval between two looks at the Stacks.
	lookEvery = time.Second
	// settleLimit bounds the wait for the Stacks.
	settleLimit = 10 * time.Minute
	// stillTime is how long a Stack must have failed in the same way to count as settled: the operator and Flux repeat what failed.
	stillTime = time.Minute
)

// applyStacks lets Flux apply the repositories of the teams, and waits until each Stack has settled: it is ready, waits for a person, or
// fails again and again. Pods need images, which no backup contains, so they do not count.
func (r *run) applyStacks(ctx context.Context, show *progress.Reporter) (string, error) {
	if err := r.suspend(ctx, false); err != nil {
		return "", err
	}
	bounded, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	var watch inspect.Watch
	defer watch.Stop()
	wanted := r.plannedStacks()
	var seen settling
	last := "no Stack was seen"
	for {
		report, err := r.life.Watch(bounded, &watch)
		switch {
		case err == nil:
			left, settled := seen.look(report, wanted, time.Now())
			if len(left) == 0 {
				return "all Stacks are ready", nil
			}
			if last = left[0].String(); settled {
				r.result.Cause = last
				return fmt.Sprintf("not ready: %d", len(left)), nil
			}
			show.Detail("waiting for %s", left[0])
		case bounded.Err() == nil:
			last = err.Error()
		}
		select {
		case <-every.C:
		case <-bounded.Done():
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			r.result.Cause = fmt.Sprintf("not all Stacks have settled within %s, the limit of a rehearsal: %s", settleLimit, last)
			return "not settled", nil
		}
	}
}

// plannedStacks returns the Stacks that the branches of the teams contain, as NAMESPACE/NAME, without those whose plans fail.
func (r *run) plannedStacks() (names []string) {
	for _, part := range r.result.Parts {
		if part.Namespace != "" && !part.Removed && !part.Failed && part.Name != plan.Orders {
			names = append(names, part.Namespace+"/"+part.Name)
		}
	}
	return names
}

// settling remembers what the Stacks that are not ready wait for, and since when. Its zero value is ready for use.
type settling struct {
	cause string
	since time.Time
}

// look returns the Stacks of a report that are not ready, with those of the wanted ones that are missing. settled says that waiting
// changes none of them.
func (s *settling) look(report status.Report, wanted []string, now time.Time) (left []status.Item, settled bool) {
	found := map[string]bool{}
	moving, cause := false, ""
	for _, item := range report.Items {
		if item.Kind != "Stack" {
			continue
		}
		found[item.Namespace+"/"+item.Name] = true
		if item.Ready {
			continue
		}
		left = append(left, item)
		moving = moving || item.Progressing()
		if !item.AwaitsApproval() {
			cause += item.Ref() + item.Reason
		}
	}
	for _, name := range wanted {
		if !found[name] {
			left = append(left, status.Item{Kind: "Stack", Name: name, Reason: "Missing", Message: "Flux has not created it: " + whyMissing(report)})
			cause += name
		}
	}
	if cause != s.cause || moving || s.since.IsZero() {
		s.cause, s.since = cause, now
	}
	return left, !moving && (cause == "" || now.Sub(s.since) >= stillTime)
}

// whyMissing returns why Flux has not applied everything.
func whyMissing(report status.Report) string {
	for _, item := range report.Items {
		if item.OfHop() && !item.Ready {
			return item.String()
		}
	}
	return "its repository is applied without it"
}

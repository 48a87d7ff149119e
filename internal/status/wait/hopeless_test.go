package wait

import (
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/status"
)

func TestOnlyHopelessCausesEndAWaitEarly(t *testing.T) {
	stack := func(reason, message string) status.Item {
		return status.Item{Kind: "Stack", Namespace: "team-web", Name: "shop", Reason: reason, Message: message}
	}
	source := func(ready bool) status.Item {
		return status.Item{Kind: "GitRepository", Namespace: "team-web", Name: "web", Ready: ready, Reason: "Progressing"}
	}
	seen := func(items ...status.Item) status.Report { return status.NewReport(items) }
	failed := stack("UpdateFailed", "database shop exists already")
	asks := stack("AwaitingApproval", "up would delete it")
	type look struct {
		after  time.Duration
		report status.Report
		ends   bool
	}
	for name, looks := range map[string][]look{
		"a Stack that is stalled":         {{0, seen(failed), false}, {persistTime, seen(failed), false}, {retriedTime, seen(failed), true}},
		"a Stack that is tried again":     {{0, seen(stack("RetryingAfterFailure", "x")), false}, {persistTime, seen(stack("RetryingAfterFailure", "x")), false}},
		"a cause that changes":            {{0, seen(failed), false}, {retriedTime, seen(stack("UpdateFailed", "another")), false}},
		"a push that is not fetched":      {{0, seen(failed, source(false)), false}, {retriedTime, seen(failed, source(false)), false}},
		"a push that is fetched late":     {{0, seen(failed), false}, {time.Second, seen(failed, source(false)), false}, {retriedTime, seen(failed, source(true)), false}},
		"an object that a policy rejects": {{0, seen(stack("ReconciliationFailed", "admission policy p rejects Stack a/b: no")), false}, {persistTime, seen(stack("ReconciliationFailed", "admission policy p rejects Stack a/b: no")), true}},
		"an apply that fails for now":     {{0, seen(stack("ReconciliationFailed", "connection refused")), false}, {persistTime, seen(stack("ReconciliationFailed", "connection refused")), false}},
		"outputs that are too large":      {{0, seen(stack("TooLarge", "x")), false}, {persistTime, seen(stack("TooLarge", "x")), true}},
		"a source that is suspended":      {{0, seen(status.Item{Kind: "GitRepository", Reason: "Suspended"}), false}, {persistTime, seen(status.Item{Kind: "GitRepository", Reason: "Suspended"}), true}},
		"a Stack that waits for a person": {{0, seen(asks), false}, {time.Second, seen(asks), false}, {askedTime, seen(asks), true}},
		"a Stack that waits for a person, beside one that runs": {
			{0, seen(asks, stack("StackProcessing", "x")), false}, {retriedTime, seen(asks, stack("StackProcessing", "x")), false},
		},
		"a platform that stays ready": {{0, seen(source(true)), false}, {persistTime, seen(source(true)), false}},
	} {
		t.Run(name, func(t *testing.T) {
			var p persistence
			began := time.Now()
			for n, look := range looks {
				if got := p.isHopeless(look.report, began.Add(look.after)); got != look.ends {
					t.Errorf("look %d ends it: %t, want %t", n, got, look.ends)
				}
			}
		})
	}
}

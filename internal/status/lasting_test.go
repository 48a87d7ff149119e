package status

import (
	"testing"
	"time"
)

func TestOnlyWhatNoWaitingMendsEndsUpEarly(t *testing.T) {
	stack := func(reason, message string) Item {
		return Item{Kind: "Stack", Namespace: "team-web", Name: "shop", Reason: reason, Message: message}
	}
	source := func(ready bool) Item {
		return Item{Kind: "GitRepository", Namespace: "team-web", Name: "web", Ready: ready, Reason: "Progressing"}
	}
	seen := func(items ...Item) Report { return NewReport(items) }
	failed := stack("UpdateFailed", "database shop exists already")
	type look struct {
		after  time.Duration
		report Report
		ends   bool
	}
	for name, looks := range map[string][]look{
		"a Stack that is stalled":        {{0, seen(failed), false}, {lastingTime, seen(failed), false}, {triedTime, seen(failed), true}},
		"a Stack that is tried again":    {{0, seen(stack("RetryingAfterFailure", "x")), false}, {lastingTime, seen(stack("RetryingAfterFailure", "x")), false}},
		"what changes meanwhile":         {{0, seen(failed), false}, {triedTime, seen(stack("UpdateFailed", "another")), false}},
		"a push that is not fetched":     {{0, seen(failed, source(false)), false}, {triedTime, seen(failed, source(false)), false}},
		"a push that is fetched late":    {{0, seen(failed), false}, {time.Second, seen(failed, source(false)), false}, {triedTime, seen(failed, source(true)), false}},
		"what is refused at admission":   {{0, seen(stack("ReconciliationFailed", "Stack a/b is refused at admission (policy p): no")), false}, {lastingTime, seen(stack("ReconciliationFailed", "Stack a/b is refused at admission (policy p): no")), true}},
		"what is applied without luck":   {{0, seen(stack("ReconciliationFailed", "connection refused")), false}, {lastingTime, seen(stack("ReconciliationFailed", "connection refused")), false}},
		"outputs that are too large":     {{0, seen(stack("TooLarge", "x")), false}, {lastingTime, seen(stack("TooLarge", "x")), true}},
		"a source that is suspended":     {{0, seen(Item{Kind: "GitRepository", Reason: "Suspended"}), false}, {lastingTime, seen(Item{Kind: "GitRepository", Reason: "Suspended"}), true}},
		"everything ready for some time": {{0, seen(source(true)), false}, {lastingTime, seen(source(true)), false}},
	} {
		t.Run(name, func(t *testing.T) {
			var l lasting
			began := time.Now()
			for n, look := range looks {
				if got := l.stands(look.report, began.Add(look.after)); got != look.ends {
					t.Errorf("look %d ends it: %t, want %t", n, got, look.ends)
				}
			}
		})
	}
}

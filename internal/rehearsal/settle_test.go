package rehearsal

import (
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/status"
)

func TestARehearsalWaitsUntilEachStackHasSettled(t *testing.T) {
	stack := func(name, reason string) status.Item {
		return status.Item{Kind: "Stack", Namespace: "team-web", Name: name, Ready: reason == "", Reason: reason}
	}
	type look struct {
		after   time.Duration
		items   []status.Item
		left    int
		settled bool
	}
	seen := func(items ...status.Item) []status.Item { return items }
	for name, looks := range map[string][]look{
		"all are ready":                    {{0, seen(stack("a", ""), stack("b", "")), 0, true}},
		"one is in its first update":       {{0, seen(stack("a", ""), stack("b", "StackProcessing")), 1, false}, {time.Hour, seen(stack("a", ""), stack("b", "StackProcessing")), 1, false}},
		"a pod needs an image":             {{0, seen(stack("a", ""), stack("b", ""), status.Item{Kind: "Pod", Reason: "ErrImagePull"}), 0, true}},
		"one does not exist yet":           {{0, seen(stack("a", "")), 1, false}, {time.Second, seen(stack("a", ""), stack("b", "StackProcessing")), 1, false}, {2 * time.Second, seen(stack("a", ""), stack("b", "")), 0, true}},
		"one is never created":             {{0, seen(stack("a", "")), 1, false}, {stillTime, seen(stack("a", "")), 1, true}},
		"one waits for a person":           {{0, seen(stack("a", ""), stack("b", "AwaitingApproval")), 1, true}},
		"one waits, and another runs":      {{0, seen(stack("a", "StackProcessing"), stack("b", "AwaitingApproval")), 2, false}, {time.Second, seen(stack("a", ""), stack("b", "AwaitingApproval")), 1, true}},
		"one fails, and is tried again":    {{0, seen(stack("a", ""), stack("b", "RetryingAfterFailure")), 1, false}, {stillTime / 2, seen(stack("a", ""), stack("b", "StackProcessing")), 1, false}, {stillTime, seen(stack("a", ""), stack("b", "RetryingAfterFailure")), 1, false}},
		"one fails again and again":        {{0, seen(stack("a", ""), stack("b", "UpdateFailed")), 1, false}, {stillTime, seen(stack("a", ""), stack("b", "UpdateFailed")), 1, true}},
		"one fails while another one runs": {{0, seen(stack("a", "StackProcessing"), stack("b", "UpdateFailed")), 2, false}, {stillTime, seen(stack("a", "StackProcessing"), stack("b", "UpdateFailed")), 2, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var s settling
			began := time.Now()
			for n, look := range looks {
				left, settled := s.look(status.NewReport(look.items), []string{"team-web/a", "team-web/b"}, began.Add(look.after))
				if len(left) != look.left || settled != look.settled {
					t.Errorf("look %d: %d left, settled: %t, want %d, %t: %v", n, len(left), settled, look.left, look.settled, left)
				}
			}
		})
	}
}

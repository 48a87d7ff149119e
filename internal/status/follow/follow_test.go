package follow_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/follow"
)

// team returns a report on an item of team web that is not ready for a reason, beside an unready item of another layer.
func team(kind, reason, message string) status.Report {
	r := status.Report{Items: []status.Item{
		{Layer: status.LayerSync, Kind: "Deployment", Name: "unrelated", Reason: "ScaledToZero"},
		{Layer: status.LayerTeam, Kind: kind, Namespace: "team-web", Name: "web", Reason: reason, Message: message},
	}}
	r.SetCauses([]status.Cause{{Item: 0}, {Item: 1}})
	return r
}

// operator returns a report on an item of team web that a fault of the platform explains.
func operator() status.Report {
	r := team("Stack", "Progressing", "")
	r.SetCauses([]status.Cause{{Item: 0, Explains: []int{1}}})
	return r
}

func TestResultOfAPush(t *testing.T) {
	waits := team("Stack", "Progressing", "it runs")
	asks := team("Stack", "AwaitingApproval", "up would delete it")
	fails := team("Stack", "UpdateFailed", "the name is taken")
	rejects := team("Kustomization", "ReconciliationFailed", "admission policy p rejects Program team-web/web")
	ready := status.Report{Items: []status.Item{{Layer: status.LayerSync, Kind: "Deployment", Name: "unrelated"}}}
	ready.SetCauses([]status.Cause{{Item: 0}})
	for name, tc := range map[string]struct {
		states []follow.State // the last one repeats
		err    error
		// patience is that of the push, if it is not the test's.
		patience time.Duration
		want     string
		said     string
	}{
		"the commit is applied, and the team is ready": {
			states: []follow.State{{Report: fails}, {Report: waits, Tried: true}, {Report: ready, Tried: true}}, want: "ready",
			said: "Flux has not applied the commit yet|Stack team-web/web: Progressing: it runs",
		},
		"an old failure, until Flux tries the commit": {
			states: []follow.State{{Report: rejects}, {Report: rejects}, {Report: ready, Tried: true}}, want: "ready", said: "Flux has not applied the commit yet",
		},
		"a failure that lasts": {
			states: []follow.State{{Report: fails, Tried: true}}, want: "not ready: Stack team-web/web: UpdateFailed: the name is taken",
			said: "Stack team-web/web: UpdateFailed: the name is taken",
		},
		"a Stack that waits for a person": {
			states: []follow.State{{Report: asks, Tried: true}}, patience: time.Hour, want: "not ready: Stack team-web/web waits for approval: up would delete it",
			said: "Stack team-web/web waits for approval: up would delete it",
		},
		"a Stack that has waited for a person until this commit": {
			states: []follow.State{{Report: asks, Tried: true}, {Report: waits, Tried: true}, {Report: ready, Tried: true}}, want: "ready",
			said: "Stack team-web/web waits for approval: up would delete it|Stack team-web/web: Progressing: it runs",
		},
		"a policy that rejects the commit": {
			states: []follow.State{{Report: rejects, Tried: true}}, want: "not ready: Kustomization team-web/web: ReconciliationFailed: admission policy p rejects Program team-web/web",
			said: "Kustomization team-web/web: ReconciliationFailed: admission policy p rejects Program team-web/web",
		},
		"a fault of the platform that stops the team": {
			states: []follow.State{{Report: operator(), Tried: true}}, want: "not ready: Deployment unrelated (layer sync): ScaledToZero", said: "Deployment unrelated (layer sync): ScaledToZero",
		},
		"a later push": {states: []follow.State{{Report: waits}, {Replaced: true}}, want: "a later push has replaced the commit: see `strata status`", said: "Flux has not applied the commit yet"},
		"a run that does not end": {
			states: []follow.State{{Report: waits, Tried: true}}, want: "not ready yet: Stack team-web/web: Progressing: it runs (follow it with `strata status`)", said: "Stack team-web/web: Progressing: it runs",
		},
		"a platform that cannot be read": {err: errors.New("refused"), want: "not ready yet: reading the status fails: refused (follow it with `strata status`)", said: "reading the status fails: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var said []string
			looks := 0
			p := follow.Push{
				Look: func(context.Context) (follow.State, error) {
					if tc.err != nil {
						return follow.State{}, tc.err
					}
					state := tc.states[min(looks, len(tc.states)-1)]
					looks++
					return state, nil
				},
				Counts: func(i status.Item) bool { return i.Namespace == "team-web" },
				Ready:  "ready", Command: "strata status", Every: time.Millisecond, Patience: cmp.Or(tc.patience, 20*time.Millisecond),
			}
			if got := p.Result(ctx, func(line string) { said = append(said, line) }); got != tc.want || strings.Join(said, "|") != tc.said {
				t.Errorf("the result is %q after %q, want %q after %q", got, said, tc.want, tc.said)
			}
		})
	}
}

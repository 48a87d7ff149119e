package audit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/strata-platform/strata/internal/audit"
)

func TestOnlyARefusalIsARefusal(t *testing.T) {
	for want, attempt := range map[audit.Outcome]audit.Attempt{
		audit.Refused:      {Do: answers(audit.Answer{By: "RBAC"})},
		audit.Allowed:      {Do: answers(audit.Answer{Allowed: true}), Expected: true},
		audit.Unexpected:   {Do: answers(audit.Answer{Allowed: true})},
		audit.Failed:       {Do: answers(audit.Answer{Err: errors.New("timeout")})},
		audit.NotAttempted: {Do: answers(audit.Answer{Skipped: "needs root"})},
	} {
		results, err := audit.Run(t.Context(), []audit.Attempt{attempt})
		if err != nil || results[0].Outcome != want {
			t.Errorf("got %v, %v, want %s", results, err, want)
		}
	}
	// An answer that names nothing is not understood.
	if results, _ := audit.Run(t.Context(), []audit.Attempt{{Do: answers(audit.Answer{Message: "no"})}}); results[0].Outcome != audit.Failed {
		t.Errorf("got %v", results)
	}
}

func answers(a audit.Answer) func(context.Context) audit.Answer {
	return func(context.Context) audit.Answer { return a }
}

func TestAnInterruptEndsTheAudit(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	made := 0
	attempts := make([]audit.Attempt, 1000)
	for i := range attempts {
		attempts[i].Do = func(ctx context.Context) audit.Answer {
			if i == 0 {
				made++
				cancel()
			}
			<-ctx.Done()
			return audit.Answer{Err: ctx.Err()}
		}
	}
	if _, err := audit.Run(ctx, attempts); !errors.Is(err, context.Canceled) || made != 1 {
		t.Errorf("got %v after %d attempts", err, made)
	}
}

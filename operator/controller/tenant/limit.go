package tenant

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RunLimit is the time limit of a run.
type RunLimit struct {
	// After is the longest duration of a run.
	After time.Duration

	// By names the origin of the limit, for messages.
	By string
}

// RunLimit returns the time limit of the namespace's runs. If the namespace has no policy, or the policy sets no limit,
// RunLimit returns fallback.
func (r *Reader) RunLimit(ctx context.Context, fallback RunLimit) (RunLimit, error) {
	policy, err := r.Policy(ctx)
	switch {
	case errors.Is(err, ErrMissing), err == nil && (policy == nil || policy.RunTimeout == ""):
		return fallback, nil
	case err != nil:
		return RunLimit{}, err
	}
	after, err := time.ParseDuration(policy.RunTimeout)
	if err != nil || after <= 0 {
		return RunLimit{}, fmt.Errorf("TenantPolicy %s/%s: spec.runTimeout %q is not a duration, such as 15m: ask %s to correct it",
			r.namespace, Name, policy.RunTimeout, policy.Contact)
	}
	return RunLimit{after, fmt.Sprintf("the limit of team %s (runTimeout in teams.yaml; ask %s for more)", policy.Team, policy.Contact)}, nil
}

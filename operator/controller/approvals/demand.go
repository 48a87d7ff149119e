package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/plan"
)

// policyOf returns the policy of a team. It is nil if the namespace belongs to no team, or if the platform is deleting it.
func policyOf(ctx context.Context, policies *tenant.Reader) (*tenant.Policy, error) {
	policy, err := policies.Policy(ctx)
	if errors.Is(err, tenant.ErrMissing) {
		return nil, nil
	}
	return policy, err
}

// Of returns why a run with the result of a preview would wait for an approval: [approval.Data], [approval.Always], or "" if it would not.
func Of(ctx context.Context, stack *v1.Stack, policies *tenant.Reader, result *events.Plan) (string, error) {
	policy, err := policyOf(ctx, policies)
	if err != nil {
		return "", err
	}
	wanted, err := demand(stack, policy)
	if err != nil || wanted == approval.Never {
		return "", err
	}
	if needed, unseen := needs(wanted, result); len(needed) == 0 && unseen == 0 {
		return "", nil
	}
	return wanted, nil
}

// needs returns the steps of a preview that need an approval, and the number of those that the preview did not keep. The preview keeps
// all that lose data.
func needs(demand string, result *events.Plan) (needed []plan.Step, unseen int) {
	needed = planned.Steps(result)
	if demand == approval.Always {
		return needed, result.More
	}
	return slices.DeleteFunc(needed, func(s plan.Step) bool { return !s.LosesData }), 0
}

// demand returns what needs an approval: [approval.Data], [approval.Always] or [approval.Never]. A Stack that has demanded approval of every change demands it until an update without the demand
// has succeeded, so that no commit can both withdraw the demand and use its absence.
func demand(stack *v1.Stack, policy *tenant.Policy) (string, error) {
	last := stack.Status.LastUpdate
	if stack.Annotations[approval.Annotation] == approval.Always || last != nil && last.Approval == approval.Always {
		return approval.Always, nil
	}
	if policy == nil {
		return approval.Never, nil
	}
	switch policy.Approval {
	case "":
		return approval.Data, nil
	case approval.Data, approval.Always, approval.Never:
		return policy.Approval, nil
	}
	return "", fmt.Errorf("TenantPolicy %s/%s: spec.approval %q is none of %s, %s, %s: ask %s to correct it",
		stack.Namespace, tenant.Name, policy.Approval, approval.Data, approval.Always, approval.Never, policy.Contact)
}

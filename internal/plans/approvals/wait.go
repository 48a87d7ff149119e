package approvals

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/plan"
)

// poll is the interval between two looks at a Stack.
const poll = 500 * time.Millisecond

// Before is what blocks the Stacks of a Plan, by their names.
type Before map[string]string

// Before returns what blocks a Plan's Stacks. [Client.Wait] compares it with later states: what blocks a Stack before an approval is
// no result of the approval. given is the state of the Plan: it leaves out a Stack that has begun to wait after the approval.
func (c *Client) Before(ctx context.Context, p *plan.Plan, given State) (Before, error) {
	seen := Before{}
	for _, each := range p.Status.Stacks {
		if !covered(p, each) {
			continue
		}
		stack, err := c.stack(ctx, p.Namespace, each.Name)
		if err != nil {
			return nil, err
		}
		if given.Time != nil && stack != nil && stack.Status.Approval != nil && stack.Status.Approval.Time.After(*given.Time) {
			continue
		}
		seen[each.Name] = blocked(stack)
	}
	return seen, nil
}

// Wait waits until the operator has applied an approved Plan to all of its Stacks, and passes what it waits for to say. It returns an
// error with the reason if the operator does not apply one, or with the cause of the end of ctx.
func (c *Client) Wait(ctx context.Context, p *plan.Plan, before Before, say func(state string)) error {
	for _, each := range p.Status.Stacks {
		if !covered(p, each) {
			continue
		}
		last := ""
		err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			stack, err := c.stack(ctx, p.Namespace, each.Name)
			if err != nil {
				return false, err
			}
			if applied(stack, p, each) {
				return true, nil
			}
			if why := blocked(stack); why != "" && why != before[each.Name] {
				return false, fmt.Errorf("Stack %s/%s is not applied: %s", p.Namespace, each.Name, why)
			}
			if state := each.Name + ": " + progress(stack); state != last {
				last = state
				say(state)
			}
			return false, nil
		})
		if wait.Interrupted(err) || err != nil && ctx.Err() != nil {
			return fmt.Errorf("the approval is given, but Stack %s/%s is not applied yet (%s): %w; `strata status` shows the Stack later", p.Namespace, each.Name, last, context.Cause(ctx))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// covered reports whether an approval of a Plan is about one of its entries. A branch may also change Stacks that need no approval, and
// orders, whose Stacks belong to the platform.
func covered(p *plan.Plan, entry plan.Stack) bool { return p.Spec.Stack != "" || entry.Approval != "" }

// stack returns a Stack, or nil if it does not exist.
func (c *Client) stack(ctx context.Context, namespace, name string) (*v1.Stack, error) {
	object, err := c.objects.Resource(stackResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	stack := &v1.Stack{}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, stack)
	}
	if err != nil {
		return nil, fmt.Errorf("read Stack %s/%s: %w", namespace, name, err)
	}
	return stack, nil
}

// applied reports whether the operator has done to a Stack what a Plan says.
func applied(stack *v1.Stack, p *plan.Plan, planned plan.Stack) bool {
	if stack == nil {
		// The Stack of a branch that adds it does not exist before the merge.
		return planned.Removed || p.Spec.Stack != ""
	}
	if given := stack.Status.Approval; given != nil {
		return given.By != "" && given.Digest == p.Status.Digest
	}
	// A waiting Stack also becomes ready by a commit that needs no approval.
	ready := meta.FindStatusCondition(stack.Status.Conditions, v1.ReadyCondition)
	return p.Spec.Stack != "" && ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == stack.Generation
}

// blocked returns why a Stack waits for a person, or "".
func blocked(stack *v1.Stack) string {
	if stack == nil {
		return ""
	}
	stalled := meta.FindStatusCondition(stack.Status.Conditions, v1.StalledCondition)
	if stalled == nil || stalled.Status != metav1.ConditionTrue {
		return ""
	}
	if waits := stack.Status.Approval; waits != nil && waits.By == "" && stalled.Reason == v1.StalledAwaitingApprovalReason {
		return fmt.Sprintf("it waits for an approval of Plan %s: %s", waits.Plan, stalled.Message)
	}
	return stalled.Reason + ": " + stalled.Message
}

// progress describes in a few words what the operator does with a Stack.
func progress(stack *v1.Stack) string {
	if stack == nil {
		return "it does not exist yet"
	}
	if running := meta.FindStatusCondition(stack.Status.Conditions, v1.ReconcilingCondition); running != nil && running.Status == metav1.ConditionTrue {
		return running.Message
	}
	return "waits for the operator"
}

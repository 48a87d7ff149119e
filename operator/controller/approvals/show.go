package approvals

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/plan"
)

// planKey returns the namespace and name of the Plan that shows the Stack's run.
func (p *Pass) planKey() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Stack.Namespace, Name: plan.NameOf(p.Stack.Name)}
}

// show writes the plan of the run into the Stack's Plan, and returns the Plan. A Plan that shows the run already stays, and its approvals
// with it. Any other Plan of this name goes: only the operator writes the status of a Plan, but a team can create one.
func (p *Pass) show(ctx context.Context, now plan.Stack, hides bool, needed []plan.Step, unseen int) (*plan.Plan, error) {
	held, err := p.read(ctx, p.planKey())
	if err != nil {
		return nil, err
	}
	if held != nil && held.Spec.Stack == p.Stack.Name && held.Status.Phase == plan.Ready && len(held.Status.Stacks) == 1 &&
		Missing(held.Status.Stacks[0], now, needed, unseen) == "" {
		return held, nil
	}
	if held != nil {
		if err := p.deletePlan(ctx); err != nil {
			return nil, err
		}
	}
	made := &plan.Plan{Spec: plan.Spec{Stack: p.Stack.Name}}
	made.Namespace, made.Name = p.planKey().Namespace, p.planKey().Name
	made.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1.GroupVersion.String(), Kind: v1.StackKind, Name: p.Stack.Name, UID: p.Stack.UID,
	}}
	object, err := made.Object()
	if err != nil {
		return nil, err
	}
	if err := p.client.Create(ctx, object); err != nil {
		return nil, fmt.Errorf("create Plan %s, which shows what the Stack waits for: %w", p.planKey(), err)
	}
	made.UID = object.GetUID()
	made.Status = planned.Result{Stacks: []plan.Stack{now}, Size: planned.SizeOf(object), Hides: hides}.Status()
	return made, planned.Write(ctx, p.client, p.planKey(), made.UID, made.Status)
}

// deletePlan deletes the Plan of the Stack.
func (p *Pass) deletePlan(ctx context.Context) error {
	err := p.client.Delete(ctx, planned.Object(p.planKey()))
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete Plan %s: %w", p.planKey(), err)
	}
	return nil
}

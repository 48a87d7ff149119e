package orders

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/strata-platform/strata/catalogue"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/tenant"
)

const (
	// resync is how often the controller restores the results of a ready order, which no watch covers.
	resync = 10 * time.Minute
	// recheck is how often it looks again at a condition that no watch reports: another object has the results' name.
	recheck = 10 * time.Second
)

// errRace means that an object changed between a read and a write. The next attempt reads it again.
var errRace = errors.New("another client changed the object at the same time")

// errForeign means that a Stack with the name of the order's Stack exists and belongs to somebody else.
var errForeign = errors.New("the Stack does not belong to the order")

// reconcile handles one order. It returns when to look again; zero means at the next change.
func (c *Controller) reconcile(ctx context.Context, of key) (time.Duration, error) {
	if of.name == "" || of.namespace == "" {
		return 0, nil
	}
	o := emptyOrder(of.kind)
	err := c.client.Get(ctx, types.NamespacedName{Namespace: of.namespace, Name: of.name}, o.Unstructured)
	if isGone(err) {
		// Somebody removed the finalizer, so onDelete of the order is gone. The spec of the Stack still has its value.
		_, err := c.deleteStacks(ctx, of, nil)
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("read the order: %w", err)
	}
	if o.GetDeletionTimestamp() != nil {
		return c.finish(ctx, of, o)
	}
	now, wait, err := c.apply(ctx, of, o)
	if err != nil && !errors.Is(err, errRace) {
		// The team cannot fix this, and the error may name objects of the platform.
		return 0, errors.Join(err, c.report(ctx, o, working(ReasonUnavailable, "the platform cannot handle the order now, and retries: ask the platform team if this continues")))
	}
	if err != nil {
		return 0, err
	}
	return wait, c.report(ctx, o, now)
}

// isGone reports whether the API server says that an object does not exist. An API server that does not serve the kind,
// as in the first moments after its start, answers 404, too; then the object may well exist.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// apply creates or updates the order's Stack, and copies its results when it is ready.
func (c *Controller) apply(ctx context.Context, of key, o order) (state, time.Duration, error) {
	policy, err := tenant.NewReader(c.client.RESTMapper(), c.client, of.namespace, func(dependents.Object) {}).Policy(ctx)
	if errors.Is(err, tenant.ErrMissing) || err == nil && policy == nil {
		return stalled(ReasonNoTeam, "the namespace %s belongs to no team: order in the namespace of a team", of.namespace), recheck, nil
	}
	if err != nil {
		return state{}, 0, err
	}
	n, err := namesOf(policy.Team, of.name)
	if err != nil {
		return stalled(ReasonInvalidName, "%s", err.Error()), 0, nil
	}
	limit := policy.Orders[of.kind.Singular]
	if !c.known.complete(of.kind) {
		return state{}, 0, errRace // The rate limit of the queue is the wait.
	}
	if !c.known.admit(of, o.GetUID(), o.GetCreationTimestamp(), policy.Team, limit) {
		return stalled(ReasonTooManyOrders, "team %s may have %d orders of kind %s, and already has as many: delete one, or ask %s for a higher limit", policy.Team, limit, of.kind.Name, policy.Contact), resync, nil
	}
	if controllerutil.AddFinalizer(o.Unstructured, Finalizer) {
		if err := c.writeFinalizers(ctx, o); err != nil {
			return state{}, 0, err
		}
	}
	stack, err := c.applyStack(ctx, of, o, n)
	if errors.Is(err, errForeign) {
		return stalled(ReasonNotOwned, "the platform has a Stack %s that does not belong to this order: ask %s to delete it", n.stack(), policy.Contact), recheck, nil
	}
	if err != nil {
		return state{}, 0, err
	}
	if stack == nil {
		return working(ReasonProgressing, "the platform still deletes an earlier order of this name"), 0, nil
	}
	now, ready := stateOf(stack)
	if !ready {
		return now, 0, nil
	}
	now, err = c.copyResults(ctx, of, o, n, stack)
	if now.kind == v1.ReadyCondition {
		return now, resync, err
	}
	return now, recheck, err
}

// applyStack creates or updates the order's Stack, and returns it. It returns nil while an earlier Stack of this name is
// being deleted.
func (c *Controller) applyStack(ctx context.Context, of key, o order, n names) (*v1.Stack, error) {
	wanted, err := stackOf(of, o, n)
	if err != nil {
		return nil, err
	}
	existing := &v1.Stack{}
	err = c.client.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	if err == nil && existing.DeletionTimestamp != nil {
		return nil, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read Stack %s: %w", wanted.Name, err)
	}
	if err == nil && !heldBy(existing, of) {
		// Two orders never have the same Stack name, so the platform team has created this Stack.
		return nil, errForeign
	}
	complete, err := explicit(wanted)
	if err != nil {
		return nil, fmt.Errorf("encode Stack %s: %w", wanted.Name, err)
	}
	//nolint:staticcheck // client.Apply takes typed configurations, and the Stack has no such type
	if err := c.client.Patch(ctx, complete, client.Apply, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("apply Stack %s: %w", wanted.Name, err)
	}
	applied := &v1.Stack{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(complete.Object, applied); err != nil {
		return nil, fmt.Errorf("decode Stack %s: %w", wanted.Name, err)
	}
	return applied, nil
}

// heldBy reports whether a Stack has the labels of an order.
func heldBy(stack *v1.Stack, of key) bool {
	return stack.Labels[catalogue.KindLabel] == of.kind.Singular && stack.Labels[catalogue.NamespaceLabel] == of.namespace && stack.Labels[catalogue.OrderLabel] == of.name
}

// finish deletes the Stack of a deleted order, and then removes the finalizer. The results have the order as their owner,
// so Kubernetes deletes them.
func (c *Controller) finish(ctx context.Context, of key, o order) (time.Duration, error) {
	if !controllerutil.ContainsFinalizer(o.Unstructured, Finalizer) {
		_, err := c.deleteStacks(ctx, of, nil)
		return 0, err
	}
	destroy := o.destroys()
	left, err := c.deleteStacks(ctx, of, &destroy)
	if err != nil {
		return 0, err
	}
	if left != nil {
		now, _ := stateOf(left)
		if now.kind != v1.StalledCondition {
			now = working(ReasonDeleting, "the platform deletes the order's Stack")
		}
		return 0, c.report(ctx, o, now)
	}
	controllerutil.RemoveFinalizer(o.Unstructured, Finalizer)
	return 0, c.writeFinalizers(ctx, o)
}

// deleteStacks deletes the Stacks of an order and returns one that still exists, or nil. destroy says whether the operator
// destroys their resources, too; nil leaves destroyOnFinalize of each Stack unchanged.
func (c *Controller) deleteStacks(ctx context.Context, of key, destroy *bool) (*v1.Stack, error) {
	var stacks v1.StackList
	err := c.client.List(ctx, &stacks, client.InNamespace(of.kind.Namespace()),
		client.MatchingLabels{catalogue.KindLabel: of.kind.Singular, catalogue.NamespaceLabel: of.namespace, catalogue.OrderLabel: of.name})
	if err != nil {
		return nil, fmt.Errorf("list the order's Stacks: %w", err)
	}
	for i := range stacks.Items {
		stack := &stacks.Items[i]
		if destroy != nil && stack.Spec.DestroyOnFinalize != *destroy {
			patch := fmt.Appendf(nil, `{"spec":{"destroyOnFinalize":%t}}`, *destroy)
			if err := c.client.Patch(ctx, stack, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldOwner)); err != nil {
				return nil, fmt.Errorf("change Stack %s before its deletion: %w", stack.Name, err)
			}
		}
		if stack.DeletionTimestamp != nil {
			continue
		}
		err := c.client.Delete(ctx, stack, client.Preconditions{UID: &stack.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("delete Stack %s: %w", stack.Name, err)
		}
	}
	if len(stacks.Items) == 0 {
		return nil, nil
	}
	return &stacks.Items[0], nil
}

// writeFinalizers writes the order's finalizers, if the order has not changed since it was read.
func (c *Controller) writeFinalizers(ctx context.Context, o order) error {
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"finalizers":%s}}`, o.GetResourceVersion(), quoted(o.GetFinalizers()))
	err := c.client.Patch(ctx, o.Unstructured, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsConflict(err) {
		return errRace
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the finalizer: %w", err)
	}
	return nil
}

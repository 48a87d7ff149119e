package plans

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/operator/controller/plans/commit"
	"github.com/strata-platform/strata/operator/controller/plans/ordered"
)

// removed returns the Stacks that Flux would delete.
func (a *admission) removed() []*target {
	var targets []*target
	for _, name := range slices.Sorted(maps.Keys(a.live)) {
		stack := a.live[name]
		if a.commit.Objects[commit.StackKind][name] != nil || !a.prunes(stack) {
			continue
		}
		t := &target{stack: stack, live: stack, removed: true}
		switch {
		case stack.Status.ProjectInfo == nil:
			t.message = "the Stack has no resources"
		case !stack.Spec.DestroyOnFinalize:
			t.message = "the resources stay, because spec.destroyOnFinalize is false"
		}
		targets = append(targets, t)
	}
	return targets
}

// prunes reports whether Flux would delete an object that the commit no longer contains.
func (a *admission) prunes(object metav1.Object) bool {
	labels := object.GetLabels()
	return a.plan.Spec.Sync != "" && labels[syncLabel] == a.plan.Spec.Sync && labels[syncNamespaceLabel] == a.plan.Namespace &&
		object.GetAnnotations()[pruneAnnotation] != "disabled"
}

// findOrders adds the entry about the orders of the commit to the results.
func (a *admission) findOrders(ctx context.Context, w *work) error {
	live, err := ordered.List(ctx, a.kinds, a.Client, a.plan.Namespace)
	if err != nil {
		return err
	}
	for i := range live {
		if a.commit.Objects[live[i].GetKind()][live[i].GetName()] == nil && a.prunes(&live[i]) {
			a.orders.Delete(&live[i])
		}
	}
	if entry := a.orders.Entry(); entry != nil {
		w.planned = append(w.planned, *entry)
	}
	return nil
}

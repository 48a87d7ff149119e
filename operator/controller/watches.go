package controller

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/program"
	"github.com/strata-platform/strata/operator/controller/queue"
)

// setUp registers the reconcilers and their watches.
func setUp(mgr manager.Manager, stacks *stackReconciler, wake *queue.Waker) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("stack-controller").
		// With these additional workers, a new Stack gets its first status, and an invalid
		// one its message, even while all slots are taken.
		WithOptions(queue.Options(stacks.slots.Max()+queue.Workers, wake.Made)).
		For(&v1.Stack{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, requested))).
		Watches(&v1.Stack{}, stacks.wakeDependents(dependents.Stacks), builder.WithPredicates(outcomeChanged)).
		WatchesMetadata(&v1.Program{}, stacks.wakeDependents(dependents.Programs),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.TypedSource[reconcile.Request](wake)).
		Complete(stacks)
	if err != nil {
		return fmt.Errorf("set up the Stack controller: %w", err)
	}

	programs := &program.Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader()}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("program-controller").
		WithOptions(queue.Options(queue.Workers, func(*queue.Fair) {})).
		For(&v1.Program{}, builder.OnlyMetadata, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1.Stack{}, handler.EnqueueRequestsFromMapFunc(programOf), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(programs)
	if err != nil {
		return fmt.Errorf("set up the Program controller: %w", err)
	}
	return nil
}

// programOf returns the Program of a Stack, because the check of the Program depends on
// the Stack's config.
func programOf(_ context.Context, object client.Object) []reconcile.Request {
	stack, ok := object.(*v1.Stack)
	if !ok || stack.Spec.ProgramRef == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: stack.Namespace, Name: stack.Spec.ProgramRef.Name}}}
}

// wakeDependents wakes the Stacks that depend on an object of the manager's cache.
func (r *stackReconciler) wakeDependents(resource schema.GroupVersionResource) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		r.dependents.Changed(dependents.On(resource, object.GetNamespace(), object.GetName()))
		return nil
	})
}

// requestAnnotations are the annotations that request something of the operator.
var requestAnnotations = []string{v1.ReconcileRequestAnnotation, v1.DriftRequestAnnotation}

// requested accepts updates that change an annotation that requests something.
var requested = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return slices.ContainsFunc(requestAnnotations, func(name string) bool {
			return e.ObjectOld.GetAnnotations()[name] != e.ObjectNew.GetAnnotations()[name]
		})
	},
}

// outcomeChanged accepts events that may satisfy a prerequisite: a Stack is created or
// deleted, or an update of it has ended.
var outcomeChanged = predicate.Funcs{
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1.Stack)
		after, too := e.ObjectNew.(*v1.Stack)
		return ok && too && name(before.Status.LastUpdate) != name(after.Status.LastUpdate)
	},
}

func name(update *v1.StackUpdateState) string {
	if update == nil {
		return ""
	}
	return update.Name
}

// trimStack removes from a cached Stack all fields that wakes, metrics and claims do
// not need. The cache then stays small even with many Stacks. Reconciliations read the
// whole object from the API server.
func trimStack(obj any) (any, error) {
	stack, ok := obj.(*v1.Stack)
	if !ok {
		return obj, nil
	}
	trimmed := &v1.Stack{}
	trimmed.Namespace, trimmed.Name, trimmed.UID = stack.Namespace, stack.Name, stack.UID
	trimmed.Generation, trimmed.ResourceVersion = stack.Generation, stack.ResourceVersion
	trimmed.DeletionTimestamp = stack.DeletionTimestamp
	trimmed.Spec.ProgramRef = stack.Spec.ProgramRef
	for _, name := range requestAnnotations {
		if request, ok := stack.Annotations[name]; ok {
			metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, name, request)
		}
	}
	if last := stack.Status.LastUpdate; last != nil {
		trimmed.Status.LastUpdate = &v1.StackUpdateState{Name: last.Name, State: last.State}
	}
	if held := stack.Status.ProjectInfo; held != nil {
		trimmed.Status.ProjectInfo = &v1.ProjectInfo{Name: held.Name, Stack: held.Stack, Backend: held.Backend}
	}
	for _, condition := range stack.Status.Conditions {
		condition.Message, condition.Reason = "", ""
		trimmed.Status.Conditions = append(trimmed.Status.Conditions, condition)
	}
	return trimmed, nil
}

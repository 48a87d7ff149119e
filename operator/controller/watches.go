package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// programIndex finds Stacks by the Program that they run.
const programIndex = "spec.programRef.name"

// setUp registers the reconcilers and what wakes them.
func setUp(ctx context.Context, mgr manager.Manager, stacks *stackReconciler) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1.Stack{}, programIndex, indexProgram); err != nil {
		return fmt.Errorf("index Stacks by Program: %w", err)
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("stack").
		For(&v1.Stack{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, requested))).
		WatchesMetadata(&v1.Program{}, handler.EnqueueRequestsFromMapFunc(stacksOf(mgr.GetCache())),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(stacks)
	if err != nil {
		return fmt.Errorf("set up the Stack controller: %w", err)
	}

	programs := &programReconciler{client: mgr.GetClient(), reader: mgr.GetAPIReader()}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("program").
		For(&v1.Program{}, builder.OnlyMetadata, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(programs)
	if err != nil {
		return fmt.Errorf("set up the Program controller: %w", err)
	}
	return nil
}

// requested lets a changed request annotation through.
var requested = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[v1.ReconcileRequestAnnotation] != e.ObjectNew.GetAnnotations()[v1.ReconcileRequestAnnotation]
	},
}

// trimStack keeps of a cached Stack what waking needs: the cache then stays
// small however many Stacks there are. Reconciling reads the whole object.
func trimStack(obj any) (any, error) {
	if stack, ok := obj.(*v1.Stack); ok {
		stack.ManagedFields = nil
		stack.Spec = v1.StackSpec{ProgramRef: stack.Spec.ProgramRef}
		stack.Status = v1.StackStatus{}
	}
	return obj, nil
}

func indexProgram(obj client.Object) []string {
	if stack, ok := obj.(*v1.Stack); ok && stack.Spec.ProgramRef != nil {
		return []string{stack.Spec.ProgramRef.Name}
	}
	return nil
}

// stacksOf wakes the Stacks of a Program.
func stacksOf(cached client.Reader) handler.MapFunc {
	return func(ctx context.Context, program client.Object) []reconcile.Request {
		var stacks v1.StackList
		err := cached.List(ctx, &stacks, client.InNamespace(program.GetNamespace()),
			client.MatchingFields{programIndex: program.GetName()})
		if err != nil {
			log.FromContext(ctx).Error(err, "list the Stacks of a Program", "program", client.ObjectKeyFromObject(program))
			return nil
		}
		var requests []reconcile.Request
		for _, stack := range stacks.Items {
			requests = append(requests, reconcile.Request{
				NamespacedName: types.NamespacedName{Namespace: stack.Namespace, Name: stack.Name},
			})
		}
		return requests
	}
}

package plans

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/plan"
)

// sweep deletes a Plan with the name of a Stack's Plan, unless Kubernetes deletes it with its Stack. Package approvals writes these Plans,
// and replaces one that a team has created.
func (r *reconciler) sweep(ctx context.Context, of types.NamespacedName) error {
	object := planned.Object(of)
	if err := r.Client.Get(ctx, of, object); err != nil {
		return client.IgnoreNotFound(err)
	}
	stack, _, _ := unstructured.NestedString(object.Object, "spec", "stack")
	if stack == "" {
		return r.delete(ctx, of, object.GetUID())
	}
	owner := &metav1.PartialObjectMetadata{}
	owner.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.StackKind))
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: stack}, owner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Stack %s of Plan %s: %w", stack, of, err)
	}
	owned := slices.ContainsFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner.UID && o.UID != "" })
	if owned && plan.NameOf(stack) == of.Name {
		return nil
	}
	return r.delete(ctx, of, object.GetUID())
}

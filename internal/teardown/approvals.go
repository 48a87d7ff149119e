package teardown

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/operator/approval"
)

// approvalPrefix begins the names of the Approvals of a teardown.
const approvalPrefix = "teardown-"

// reviews are requests for the name by which the API server knows the caller.
var reviews = schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"}

// approve approves the destruction of Stacks, so that the operator destroys those with data without a wait. approved holds the UIDs of
// the Stacks that are approved already. A cluster without the kind waits for no approval.
func (c *Cluster) approve(ctx context.Context, objects []unstructured.Unstructured, approved map[types.UID]bool) error {
	namespaces := map[string][]approval.Stack{}
	for _, object := range objects {
		if !approved[object.GetUID()] {
			namespaces[object.GetNamespace()] = append(namespaces[object.GetNamespace()], approval.Stack{Name: object.GetName(), UID: object.GetUID()})
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	by, err := c.user(ctx)
	if err != nil {
		return err
	}
	for namespace, all := range namespaces {
		for some := range slices.Chunk(all, approval.MostStacks) {
			if err := c.approveStacks(ctx, namespace, approval.Spec{By: by, Destroy: some}); err != nil {
				return err
			}
			for _, stack := range some {
				approved[stack.UID] = true
			}
		}
	}
	return nil
}

func (c *Cluster) approveStacks(ctx context.Context, namespace string, spec approval.Spec) error {
	a := &approval.Approval{Spec: spec}
	a.Namespace, a.GenerateName = namespace, approvalPrefix
	object, err := a.Object()
	if err != nil {
		return err
	}
	_, err = c.dynamic.Resource(approval.Resource()).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{})
	// The namespace may be terminating: its Stacks need no approval then.
	if err != nil && !isGone(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return c.failed("approve the destruction of the Stacks in namespace "+namespace, err)
	}
	return nil
}

// user returns the name by which the API server knows the caller.
func (c *Cluster) user(ctx context.Context) (string, error) {
	review := &unstructured.Unstructured{}
	review.SetGroupVersionKind(reviews.GroupVersion().WithKind("SelfSubjectReview"))
	answer, err := c.dynamic.Resource(reviews).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return "", c.failed("ask the API server for the name of this user", err)
	}
	name, _, err := unstructured.NestedString(answer.Object, "status", "userInfo", "username")
	return name, err
}

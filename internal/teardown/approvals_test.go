package teardown_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/test/long"
)

// approvals returns the Approvals of a namespace.
func (c cluster) approvals(namespace string) (all []*approval.Approval) {
	c.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(approval.Resource().GroupVersion().WithKind(approval.Kind + "List"))
	if err := c.List(c.t.Context(), list, client.InNamespace(namespace)); err != nil {
		c.t.Fatal(err)
	}
	for i := range list.Items {
		a, err := approval.From(&list.Items[i])
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// TestAStackThatWaitsForAnApprovalIsDestroyed ends the wait of a Stack by the teardown's own Approval. The operator accepts such an
// Approval for the destroy of a deleted Stack with the same UID only (operator/controller, TestADestroyWaitsForAnApproval).
func TestAStackThatWaitsForAnApprovalIsDestroyed(t *testing.T) {
	long.Test(t)
	c := start(t)
	const waits = "up would delete gcp:sql/database:Database \"orders\" (its data is lost); to approve it: strata approve stack.shop --team web"
	stack := c.create(`{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: shop, namespace: team-web, finalizers: [finalizer.stack.pulumi.com]},
  spec: {stack: dev, programRef: {name: shop}, destroyOnFinalize: true}}`)
	stack.Object["status"] = map[string]any{
		"approval": map[string]any{"plan": "stack.shop", "message": waits, "time": "2026-11-24T12:00:00Z"},
		"conditions": []any{map[string]any{
			"type": "Stalled", "status": "True", "reason": "AwaitingApproval", "message": waits, "lastTransitionTime": "2026-11-24T12:00:00Z",
		}},
	}
	if err := c.Status().Update(t.Context(), stack); err != nil {
		t.Fatal(err)
	}

	destroyed := false
	count, err := c.down.DestroyStacks(t.Context(), func(string) {
		if destroyed || !c.leaving(stack) {
			return
		}
		// The operator finds the Approval when it destroys the deleted Stack.
		if all := c.approvals("team-web"); len(all) == 1 && slices.Contains(all[0].Spec.Destroy, approval.Stack{Name: "shop", UID: stack.GetUID()}) {
			destroyed = true
			c.free(stack)
		}
	})
	if err != nil || count != 1 || !destroyed {
		t.Fatalf("%d Stacks are destroyed (%v), and the Approvals are %+v", count, err, c.approvals("team-web"))
	}
	// The Approval covers nothing but this Stack: no Plan, and no other Stack.
	a := c.approvals("team-web")[0]
	if a.Spec.Plan != nil || len(a.Spec.Destroy) != 1 || a.Spec.By == "" || len(c.approvals("platform"))+len(c.approvals("operator")) > 0 {
		t.Errorf("the Approval is %+v", a.Spec)
	}
}

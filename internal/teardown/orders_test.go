package teardown_test

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/test/long"
)

// TestAnOrderIsDeletedBeforeItsStack checks that a teardown leaves the Stack of an order to the operator: the operator
// would create it again as long as the order exists.
func TestAnOrderIsDeletedBeforeItsStack(t *testing.T) {
	long.Test(t)
	c := start(t)
	entry, err := catalogue.Load(catalogue.Files, "database")
	if err != nil {
		t.Fatal(err)
	}
	kind, err := yaml.Marshal(entry.Definition())
	if err != nil {
		t.Fatal(err)
	}
	c.create(string(kind))
	order := c.create(`{apiVersion: catalogue.strata.dev/v1, kind: Database, metadata: {name: orders, namespace: team-web, finalizers: [catalogue.strata.dev/order]}}`)
	stack := c.create(`{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: web--orders, namespace: operator, labels: {catalogue.strata.dev/order: orders},
  finalizers: [finalizer.stack.pulumi.com]}, spec: {stack: dev, programRef: {name: database}, destroyOnFinalize: true}}`)
	order.Object["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": "False", "reason": "Deleting", "message": "the database is in use", "lastTransitionTime": "2026-01-01T00:00:00Z",
	}}}
	if err := c.Status().Update(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	if held, err := c.down.Held(t.Context(), []string{"team-web"}); err != nil || !slices.Equal(held, []string{"Database team-web/orders"}) {
		t.Errorf("the namespace of the team holds %q (error %v)", held, err)
	}

	_, err = c.down.DestroyStacks(t.Context(), silent)
	c.blocked(err, []string{"Database team-web/orders", "Stack operator/web--orders"},
		"it cannot be deleted: the database is in use", "set its spec.onDelete to keep", "describe databases.catalogue.strata.dev orders`")
	if !c.leaving(order) || c.leaving(stack) {
		t.Errorf("the order is being deleted: %t, its Stack: %t", c.leaving(order), c.leaving(stack))
	}

	// A Stack that outlives its order goes as every other.
	c.free(order)
	_, err = c.down.DestroyStacks(t.Context(), silent)
	c.blocked(err, []string{"Stack operator/web--orders"}, "it cannot be destroyed")
	if !c.leaving(stack) {
		t.Error("the Stack of a deleted order stays")
	}
	c.free(stack)
	if count, err := c.down.DestroyStacks(t.Context(), silent); err != nil || count != 0 {
		t.Errorf("then %d Stacks are left (%v)", count, err)
	}
}

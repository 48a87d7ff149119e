package orders_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/test/long"
)

// TestOrdersOfOneTeamDelayNoOtherTeam compares the order of the writes, which the API server numbers, and no times.
func TestOrdersOfOneTeamDelayNoOtherTeam(t *testing.T) {
	long.Test(t)
	const many = 300
	c := newCluster(t)
	// The watch lists the namespaces by name, so the other team comes last.
	hostile, other := c.team(t, "aa-hostile", 0), c.team(t, "zz-other", 1)
	t.Cleanup(func() {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion("catalogue.strata.dev/v1")
		object.SetKind("Database")
		if err := c.DeleteAllOf(context.WithoutCancel(t.Context()), object, client.InNamespace(hostile)); err != nil {
			t.Error(err)
		}
	})
	var all []*unstructured.Unstructured
	for i := range many {
		all = append(all, c.order(t, hostile, fmt.Sprintf("o-%d", i), "{}"))
	}
	c.order(t, other, "a", "{}")
	c.start(t)
	stack := version(t, c.stack(t, "zz-other--a"))
	before := 0
	for _, order := range all {
		c.says(t, order, "False", "may have 0 orders")
		// The controller writes an order once, and nobody else does.
		if version(t, order) < stack {
			before++
		}
	}
	if before > many/4 {
		t.Errorf("%d orders of one team are handled before the only one of another", before)
	}
}

func version(t *testing.T, object client.Object) int {
	t.Helper()
	version, err := strconv.Atoi(object.GetResourceVersion())
	if err != nil {
		t.Fatal(err)
	}
	return version
}

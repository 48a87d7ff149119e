package orders

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

func TestARunOfAnOrderTakesTheShareOfItsTeam(t *testing.T) {
	for stack, want := range map[types.NamespacedName]string{
		{Namespace: "team-catalogue-database", Name: "web--orders"}:     "team-web",
		{Namespace: "team-catalogue-database", Name: "web--eu--orders"}: "team-web--eu",
		{Namespace: "team-catalogue-database", Name: "own"}:             "team-catalogue-database",
		// A team chooses the names of its own Stacks, and takes no other team's share by them.
		{Namespace: "team-web", Name: "shop--orders"}: "team-web",
	} {
		if got := Party(stack); got != want {
			t.Errorf("%s takes the share of %s, want %s", stack, got, want)
		}
	}
}

// TestTheStackOfAKeptOrderSaysSo fails if false is omitted: the platform's mutating policy then fills in true.
func TestTheStackOfAKeptOrderSaysSo(t *testing.T) {
	for _, destroys := range []bool{false, true} {
		stack := &v1.Stack{}
		stack.Spec.DestroyOnFinalize = destroys
		object, err := explicit(stack)
		if err != nil {
			t.Fatal(err)
		}
		if got, found, err := unstructured.NestedBool(object.Object, "spec", "destroyOnFinalize"); err != nil || !found || got != destroys {
			t.Errorf("destroyOnFinalize is %t (found: %t, error %v), want %t", got, found, err, destroys)
		}
	}
}

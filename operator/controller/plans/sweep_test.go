package plans_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/plans"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/long"
)

// TestATeamKeepsNoPlanOfAStack creates Plans with the names of those that the operator makes. The Plan of a Stack that exists stays, and
// no other Plan evicts it.
func TestATeamKeepsNoPlanOfAStack(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "stacks")
	tm.apply(t, manifests(program("shop", "1"), stack("shop", "")))
	shop := &v1.Stack{}
	if err := tm.Get(t.Context(), types.NamespacedName{Namespace: tm.namespace, Name: "shop"}, shop); err != nil {
		t.Fatal(err)
	}
	owned := &plan.Plan{Spec: plan.Spec{Stack: "shop"}}
	owned.Namespace, owned.Name = tm.namespace, plan.NameOf("shop")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "pulumi.com/v1", Kind: "Stack", Name: "shop", UID: shop.UID}}
	object, err := owned.Object()
	if err != nil {
		t.Fatal(err)
	}
	if err := tm.as(t, "stacks").Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	tm.start(t, &runner{})
	for i := range plans.Kept + 1 {
		tm.plan(t, fmt.Sprintf("p%d", i), plan.Spec{Manifests: manifests(program("shop", "1"))})
	}
	tm.plan(t, "stack.none", plan.Spec{Stack: "none"})
	tm.plan(t, "stack.shop2", plan.Spec{Stack: "shop"})
	tm.plan(t, "stack.without", plan.Spec{Manifests: manifests(program("shop", "1"))})
	tm.plan(t, "z-mine", plan.Spec{Stack: "shop"})
	if got := tm.complete(t, "z-mine").Status; got.Phase != plan.Failed || !strings.Contains(got.Message, "only the operator creates the Plan of a Stack") || got.Digest != "" {
		t.Errorf("the team's own Plan of a Stack is %+v", got)
	}
	eventually(t, "the others are gone", func() error {
		for _, name := range []string{"stack.none", "stack.shop2", "stack.without", "p0"} {
			if tm.get(t, name) != nil {
				return errors.New(name + " is there")
			}
		}
		return nil
	})
	if kept := tm.get(t, owned.Name); kept == nil || kept.Status.Phase != "" {
		t.Errorf("the Plan of the Stack is %+v", kept)
	}
}

package controller_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/test/long"
)

func TestTwoStacksDoNotHoldTheSameResources(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	first := tm.await(t, "shop-dev", "Ready", ready)
	twin := strings.Replace(stack, "name: shop-dev", "name: twin", 1)
	destroys := strings.Replace(stack, "name: shop-dev", "name: destroys", 1) + "  updateTemplate: {spec: {type: destroy}}\n"
	for name, manifest := range map[string]string{"twin": twin, "destroys": destroys} {
		tm.apply(t, &v1.Stack{}, manifest)
		got := tm.await(t, name, "refused", func(s *v1.Stack) bool {
			return condition(s, v1.StalledCondition).Reason == v1.StalledSpecInvalidReason
		})
		if message := condition(got, v1.StalledCondition).Message; !strings.Contains(message, "Stack shop-dev holds stack dev of project shop") {
			t.Errorf("%s: message %q", name, message)
		}
		tm.remove(t, got)
		tm.await(t, name, "gone", gone)
	}
	if _, ok := tm.configMap(t, "settings"); !ok {
		t.Fatal("what the first Stack made is gone with another one")
	}

	// A Stack from before that rule may hold the same Pulumi stack. Its deletion destroys
	// nothing either.
	tm.apply(t, &v1.Stack{}, twin)
	old := tm.await(t, "twin", "refused", func(s *v1.Stack) bool {
		return condition(s, v1.StalledCondition).Reason == v1.StalledSpecInvalidReason
	})
	before := old.DeepCopy()
	old.Status.ProjectInfo = first.Status.ProjectInfo
	if err := c.Status().Patch(t.Context(), old, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	tm.remove(t, old)
	tm.await(t, "twin", "gone", gone)
	if _, ok := tm.configMap(t, "settings"); !ok {
		t.Fatal("what the first Stack made is gone with one of old")
	}

	// A Stack can hold a Pulumi stack that another one has released.
	tm.apply(t, &v1.Stack{}, twin)
	tm.remove(t, first)
	tm.await(t, "shop-dev", "gone", gone)
	tm.await(t, "twin", "Ready", ready)
}

func TestOneOfConcurrentStacksHoldsTheResources(t *testing.T) {
	c := startCluster(t)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		tm.apply(t, &v1.Stack{}, strings.Replace(stack, "name: shop-dev", "name: "+name, 1))
	}
	startOperatorWith(t, c, func(opts *controller.Options) { opts.MaxConcurrent = len(names) })
	taken := 0
	for _, name := range names {
		got := tm.await(t, name, "taken or refused", func(s *v1.Stack) bool {
			return ready(s) || condition(s, v1.StalledCondition).Reason == v1.StalledSpecInvalidReason
		})
		if ready(got) {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("%d Stacks hold the same resources, want 1", taken)
	}
}

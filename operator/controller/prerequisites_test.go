package controller_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

func TestStackWaitsForItsPrerequisite(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack+"  prerequisites: [{name: values, requirement: {succeededWithinDuration: 1h}}]\n")
	unmet := func(message string) *v1.Stack {
		t.Helper()
		got := tm.await(t, "shop-dev", "waiting: "+message, func(s *v1.Stack) bool {
			c := condition(s, v1.ReconcilingCondition)
			return c.Reason == v1.ReconcilingPrerequisiteNotSatisfiedReason && strings.Contains(c.Message, message)
		})
		checkKstatus(t, got, "InProgress")
		return got
	}
	unmet("there is no Stack " + tm.namespace + "/values")

	// A failed prerequisite wakes the dependant, too.
	tm.apply(t, &v1.Program{}, strings.Replace(values, `plain: "${plain}"`, `plain: {fn::readFile: /nowhere}`, 1))
	tm.apply(t, &v1.Stack{}, valuesHead+valuesEnv)
	unmet("the last update of Stack values failed")
	tm.apply(t, &v1.Program{}, values)
	first := tm.await(t, "values", "Ready", ready)
	tm.await(t, "shop-dev", "Ready", ready)

	// When the dependant is due, it requests a new run of a prerequisite whose success is
	// too old.
	long := metav1.NewTime(time.Now().Add(-2 * time.Hour))
	before := first.DeepCopy()
	first.Status.LastUpdate.LastResyncTime = long
	if err := c.Status().Patch(t.Context(), first, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	tm.apply(t, &v1.Stack{}, strings.Replace(stack, "red", "blue", 1)+"  prerequisites: [{name: values, requirement: {succeededWithinDuration: 1h}}]\n")
	got := tm.await(t, "values", "run again", func(s *v1.Stack) bool {
		return ready(s) && s.Status.LastUpdate.LastResyncTime.After(long.Time)
	})
	if want := "after-" + first.Status.LastUpdate.Name; got.Status.LastUpdate.ReconcileRequest != want {
		t.Errorf("it ran for request %q, want %q", got.Status.LastUpdate.ReconcileRequest, want)
	}
	tm.await(t, "shop-dev", "Ready", ready)
	if configMap, _ := tm.configMap(t, "settings"); configMap.Data["colour"] != "blue" {
		t.Errorf("the dependant did not run: %v", configMap.Data)
	}
}

func TestRequestRunsTheStackAgain(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	got := tm.run(t, valuesEnv)
	before := got.DeepCopy()
	got.Annotations = map[string]string{v1.ReconcileRequestAnnotation: "now"}
	if err := c.Patch(t.Context(), got, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	got = tm.await(t, "values", "run again", func(s *v1.Stack) bool { return ready(s) && s.Status.LastUpdate.ReconcileRequest == "now" })
	if got.Status.ObservedReconcileRequest != "now" || got.Status.LastUpdate.Name == before.Status.LastUpdate.Name {
		t.Errorf("status %+v after the request", got.Status)
	}
}

func TestStacksThatWaitForEachOtherAreNamed(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, values)
	for name, required := range map[string]string{"a": "b", "b": "c", "c": "a"} {
		tm.apply(t, &v1.Stack{}, strings.Replace(valuesHead, "name: values}\nspec", "name: "+name+"}\nspec", 1)+valuesEnv+"  prerequisites: [{name: "+required+"}]\n")
	}
	// The Stack that is reconciled last finds the circle, and the others find it at their
	// next reconciliation.
	var last *v1.Stack
	for _, name := range []string{"a", "b", "c"} {
		stack := tm.await(t, name, "looked at", func(s *v1.Stack) bool {
			ready := condition(s, v1.ReadyCondition)
			return ready.Status == metav1.ConditionFalse && !strings.HasPrefix(ready.Message, "reconciling generation")
		})
		if condition(stack, v1.StalledCondition).Reason == v1.StalledSpecInvalidReason {
			last = stack
		}
	}
	if last == nil {
		t.Fatal("no Stack says that they wait for each other")
	}
	if message := condition(last, v1.StalledCondition).Message; !strings.Contains(message, "wait for each other: "+last.Name+" -> ") || !strings.Contains(message, " -> "+last.Name+":") {
		t.Errorf("message %q does not show the circle", message)
	}
}

package plans_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/operator/controller/plans"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/long"
)

// blocked is a runner whose previews wait until they are stopped, or until release is closed.
func blocked(began chan<- string, release <-chan struct{}) *runner {
	return &runner{run: func(ctx context.Context, req engine.Request) (*engine.Result, error) {
		began <- req.Stack
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-release:
			return creates(req.Stack), nil
		}
	}}
}

// nextSecond waits until objects get a later creation time, which has whole seconds.
func nextSecond(t *testing.T) {
	t.Helper()
	now := time.Now().Truncate(time.Second)
	eventually(t, "a second later", func() error {
		if !time.Now().Truncate(time.Second).After(now) {
			return errors.New("it is the same second")
		}
		return nil
	})
}

func TestALaterPlanOfTheBranchReplacesAnEarlierOne(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "order")
	began, release := make(chan string, 100), make(chan struct{})
	tm.start(t, blocked(began, release))
	commit := func(name string) string { return manifests(program(name, "1"), stack(name, "")) }
	tm.plan(t, "old", plan.Spec{Branch: "new", Manifests: commit("old")})
	tm.plan(t, "other", plan.Spec{Branch: "other", Manifests: commit("other")})
	first := <-began
	nextSecond(t)
	tm.plan(t, "newer", plan.Spec{Branch: "new", Manifests: commit("newer")})
	if got := tm.complete(t, "old").Status; got.Phase != plan.Failed || got.Message != "Plan newer of a later commit of the branch has replaced this one" {
		t.Errorf("the older Plan is %+v (the first preview was that of %s)", got, first)
	}
	close(release)
	for _, name := range []string{"other", "newer"} {
		if got := tm.complete(t, name).Status; got.Phase != plan.Ready {
			t.Errorf("Plan %s is %+v", name, got)
		}
	}
}

// TestOnlyTheNewestPlansStay creates more Plans than a namespace keeps, while another team plans.
func TestOnlyTheNewestPlansStay(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	many, other := newTeam(t, c, "many"), newTeam(t, c, "other")
	runs := atomic.Int32{}
	c.start(t, &runner{run: func(_ context.Context, req engine.Request) (*engine.Result, error) {
		runs.Add(1)
		return creates(req.Stack), nil
	}})
	const created = 1000
	text := manifests(program("shop", "1"), stack("shop", ""))
	for i := range created {
		if i == created/2 {
			other.plan(t, "mine", plan.Spec{Branch: "new", Manifests: text})
		}
		many.plan(t, fmt.Sprintf("p%d", i), plan.Spec{Branch: fmt.Sprintf("b%d", i), Manifests: text})
	}
	if got := other.complete(t, "mine").Status; got.Phase != plan.Ready {
		t.Errorf("the other team's Plan is %+v", got)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(plan.Resource().GroupVersion().WithKind(plan.Kind + "List"))
	eventually(t, "few Plans are left, all complete", func() error {
		if err := c.List(t.Context(), list, client.InNamespace(many.namespace)); err != nil {
			return err
		}
		if len(list.Items) != plans.Kept {
			return fmt.Errorf("%d Plans are left", len(list.Items))
		}
		for _, item := range list.Items {
			if phase, _, _ := unstructured.NestedString(item.Object, "status", "phase"); phase != plan.Ready {
				return fmt.Errorf("Plan %s is %q", item.GetName(), phase)
			}
		}
		return nil
	})
	newest := metav1.Time{}
	for _, item := range list.Items {
		if at := item.GetCreationTimestamp(); newest.Before(&at) {
			newest = at
		}
	}
	if last := many.get(t, fmt.Sprintf("p%d", created-1)); last == nil && newest.IsZero() {
		t.Error("the newest Plan is gone")
	}
	t.Logf("%d previews for %d Plans", runs.Load(), created)
}

// TestAPlanGivesWayToAnUpdate takes the slot of a preview, which runs again later.
func TestAPlanGivesWayToAnUpdate(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "gives")
	began, release := make(chan string, 100), make(chan struct{})
	slots := tm.start(t, blocked(began, release))
	update := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: tm.namespace, Name: name}
	}
	if !slots.Take(update("one")) {
		t.Fatal("there is no slot for the first update")
	}
	tm.plan(t, "first", plan.Spec{Manifests: manifests(program("shop", "1"), stack("shop", ""))})
	<-began
	slots.Take(update("two"))
	eventually(t, "the second update has a slot", func() error {
		if !slots.Take(update("two")) {
			return errors.New("it waits")
		}
		return nil
	})
	eventually(t, "the Plan says what it waits for", func() error {
		if got := tm.get(t, "first").Status; got.Phase != plan.Running || !strings.HasPrefix(got.Message, "it waits until") {
			return fmt.Errorf("it is %+v", got)
		}
		return nil
	})
	slots.Leave(update("one"))
	<-began
	close(release)
	if got := tm.complete(t, "first").Status; got.Phase != plan.Ready || got.Message != "" {
		t.Errorf("the Plan is %+v", got)
	}
	if running, _ := slots.Busy(); running != 1 {
		t.Errorf("%d runs have a slot, want the second update only", running)
	}
}

// TestALargeResultStaysSmallAndSafe plans steps with more and longer texts than a status may have, with escapes of terminals.
func TestALargeResultStaysSmallAndSafe(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "large")
	hostile := "\x1b]0;owned\a\u202egnp.exe\r\n" + strings.Repeat("\x00é", 3000)
	tm.start(t, &runner{run: func(_ context.Context, req engine.Request) (*engine.Result, error) {
		if req.Stack == "s0" {
			return nil, &engine.Error{Message: hostile}
		}
		result := &engine.Result{Plan: &events.Plan{Changes: map[string]int{"create": 1000}}}
		for i := range 1000 {
			step := events.PlannedStep{Op: "create", Name: fmt.Sprint(i, hostile), Type: "a:b:C" + hostile}
			if i == 999 {
				step.Op, step.Type = "delete", "gcp:sql/database:Database"
			}
			for range 100 {
				step.Fields = append(step.Fields, events.PlannedField{Path: hostile, Before: hostile, After: hostile})
			}
			result.Plan.Steps = append(result.Plan.Steps, step)
		}
		return result, nil
	}})
	documents := []string{"# " + strings.Repeat("x", 850_000) + "\n" + program("shop", "1")}
	for i := range 20 {
		documents = append(documents, strings.Replace(stack(fmt.Sprintf("s%d", i), ""), "programRef: {name: "+fmt.Sprintf("s%d", i), "programRef: {name: shop", 1))
	}
	tm.plan(t, "first", plan.Spec{Branch: "new", Manifests: manifests(documents...)})
	got := tm.complete(t, "first")
	if size, _ := json.Marshal(got); len(size) > 1_200_000 {
		t.Errorf("the Plan has %d bytes", len(size))
	}
	if len(got.Status.Stacks) != 20 || got.Status.Phase != plan.Failed || got.Status.Message != "cannot be planned: Stack s0" {
		t.Fatalf("the Plan is %s: %s", got.Status.Phase, got.Status.Message)
	}
	for _, s := range got.Status.Stacks {
		if s.Name != "s0" && (len(s.Steps) == 0 || !s.Steps[0].LosesData || len(s.Steps)+s.More != 1000) {
			t.Errorf("Stack %s has %d steps and %d more", s.Name, len(s.Steps), s.More)
		}
	}
	text, err := json.Marshal(got.Status)
	if err != nil {
		t.Fatal(err)
	}
	var status any
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatal(err)
	}
	walk(status, func(value string) {
		if strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("the status contains %q", value[:min(len(value), 40)])
		}
	})
}

// walk calls visit with each text of a JSON value.
func walk(value any, visit func(string)) {
	switch value := value.(type) {
	case string:
		visit(value)
	case []any:
		for _, each := range value {
			walk(each, visit)
		}
	case map[string]any:
		for _, each := range value {
			walk(each, visit)
		}
	}
}

func TestAnOperatorThatCannotIsolatePlansNothing(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "open")
	r := &runner{}
	tm.start(t, r, func(o *plans.Options) { o.Unconfined = errors.New("no namespaces") })
	tm.plan(t, "first", plan.Spec{Manifests: manifests(program("shop", "1"), stack("shop", ""))})
	if got := tm.complete(t, "first").Status; got.Phase != plan.Failed || !strings.HasPrefix(got.Message, "this operator cannot isolate previews") || len(r.requests) > 0 {
		t.Errorf("the Plan is %+v, after %d previews", got, len(r.requests))
	}
}

// TestASpecStaysAsItIs changes a Plan after its creation, as an administrator: no right stops him.
func TestASpecStaysAsItIs(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "stays")
	tm.plan(t, "first", plan.Spec{Manifests: "# nothing"})
	object := tm.parse(t, "{apiVersion: strata.dev/v1, kind: Plan, metadata: {name: first}}")
	err := tm.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"account": "other"}}`)))
	if err == nil || !strings.Contains(err.Error(), "the spec of a Plan cannot be changed: create another Plan") {
		t.Errorf("the change gives %v", err)
	}
}

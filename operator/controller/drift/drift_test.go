package drift

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
)

func TestACheck(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	checked := func(d v1.StackDrift) func(*v1.Stack) { return func(s *v1.Stack) { s.Status.Drift = &d } }
	drifted := []v1.DriftedResource{{Name: "orders"}}
	for name, c := range map[string]struct {
		change func(*v1.Stack)
		every  time.Duration
		due    bool
		wait   time.Duration
	}{
		"is due an interval after the update":       {func(s *v1.Stack) { s.Status.LastUpdate.LastResyncTime = ago(time.Hour) }, time.Hour, true, 0},
		"is not due before":                         {func(*v1.Stack) {}, time.Hour, false, 50 * time.Minute},
		"is due an interval after the last check":   {checked(v1.StackDrift{Time: ago(time.Hour)}), time.Hour, true, 0},
		"is not due soon after a check":             {checked(v1.StackDrift{Time: ago(time.Minute), Resources: drifted}), time.Hour, false, 59 * time.Minute},
		"is due after an update of a drifted Stack": {checked(v1.StackDrift{Time: ago(11 * time.Minute), Resources: drifted}), time.Hour, true, 0},
		"is not due after an update without drift":  {checked(v1.StackDrift{Time: ago(11 * time.Minute)}), time.Hour, false, 49 * time.Minute},
		"is due on request":                         {func(s *v1.Stack) { s.Annotations = map[string]string{v1.DriftRequestAnnotation: "a"} }, 0, true, 0},
		"is not due twice for one request": {func(s *v1.Stack) {
			s.Annotations = map[string]string{v1.DriftRequestAnnotation: "a"}
			s.Status.Drift = &v1.StackDrift{Request: "a", Time: ago(0)}
		}, 0, false, 0},
		"without an interval is due on request only": {func(s *v1.Stack) { s.Status.LastUpdate.LastResyncTime = ago(24 * time.Hour) }, 0, false, 0},
		"of a Stack that was never applied":          {func(s *v1.Stack) { s.Status.LastUpdate = nil }, time.Hour, false, 0},
		"of a Stack whose update failed":             {func(s *v1.Stack) { s.Status.LastUpdate.State = v1.FailedStackStateMessage }, time.Minute, false, 0},
		"of a Stack that is only previewed":          {func(s *v1.Stack) { s.Status.LastUpdate.Type = v1.PreviewType }, time.Minute, false, 0},
		"of a Stack that is destroyed":               {func(s *v1.Stack) { s.Status.ProjectInfo = nil }, time.Minute, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			stack := &v1.Stack{}
			stack.Status.ProjectInfo = &v1.ProjectInfo{Name: "shop"}
			stack.Status.LastUpdate = &v1.StackUpdateState{Type: v1.UpType, State: v1.SucceededStackStateMessage, LastResyncTime: ago(10 * time.Minute)}
			c.change(stack)
			if due, wait := Due(stack, c.every, now); due != c.due || wait != c.wait {
				t.Errorf("due %t, after %v; want %t, after %v", due, wait, c.due, c.wait)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	stack := &v1.Stack{}
	is := func(status metav1.ConditionStatus, message string) {
		t.Helper()
		got := meta.FindStatusCondition(stack.Status.Conditions, v1.DriftedCondition)
		if got == nil || got.Status != status || got.Message != message {
			t.Errorf("the condition is %+v, want %s: %s", got, status, message)
		}
	}
	if found := Record(stack, &engine.Result{}, nil); found != "" {
		t.Errorf("drift %q", found)
	}
	is(metav1.ConditionFalse, "the resources are as the last update left them")

	result := &engine.Result{MoreDrifted: 2, Drifted: []events.Drifted{
		{Name: "orders", Type: "gcp:sql/database:Database", Missing: true},
		{Name: "login", Type: "kubernetes:core/v1:Secret", Fields: []events.Field{{Path: "data.port", Wanted: "[secret]", Found: "[secret]"}, {Path: "type"}}, More: 3},
		{Name: "settings", Type: "kubernetes:core/v1:ConfigMap", Fields: []events.Field{{Path: "data.colour", Wanted: `"red"`, Found: `"blue"`}}},
		{Name: "fourth"},
	}}
	const message = "orders (gcp:sql/database:Database) no longer exists; login (kubernetes:core/v1:Secret): data.port differs (and 4 more fields); " +
		`settings (kubernetes:core/v1:ConfigMap): data.colour is "blue", wanted "red"; 3 more`
	if found := Record(stack, result, nil); found != message {
		t.Errorf("drift %q\nwant %q", found, message)
	}
	is(metav1.ConditionTrue, message)
	if found := Record(stack, result, nil); found != "" {
		t.Errorf("the second check reports it again: %q", found)
	}

	Record(stack, nil, errors.New("no answer"))
	is(metav1.ConditionUnknown, "the check failed: no answer")
	if d := stack.Status.Drift; d.Message != "no answer" || len(d.Resources) != 4 || d.More != 2 {
		t.Errorf("a failed check leaves %+v", d)
	}
	Record(stack, nil, errors.New(strings.Repeat("x", 1<<20)))
	if n := len(stack.Status.Drift.Message); n > 2000 {
		t.Errorf("a message of %d bytes", n)
	}
}

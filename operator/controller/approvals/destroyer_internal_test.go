package approvals

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/engine"
)

// TestAnApprovalOfADestroyEnds replays the Approval that an interrupted `strata down` has left, when a commit deletes the Stack later.
func TestAnApprovalOfADestroyEnds(t *testing.T) {
	given := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	a := &approval.Approval{Spec: approval.Spec{Destroy: []approval.Stack{{Name: "shop", UID: "1"}}}}
	a.CreationTimestamp = metav1.NewTime(given)
	for name, test := range map[string]struct {
		deleted   time.Time
		uid       types.UID
		operation engine.Operation
		want      bool
	}{
		"at once":                     {given.Add(time.Second), "1", engine.Destroy, true},
		"of a deleted Stack":          {given.Add(-time.Hour), "1", engine.Destroy, true},
		"on another day":              {given.Add(20 * time.Hour), "1", engine.Destroy, false},
		"of another Stack":            {given.Add(time.Second), "2", engine.Destroy, false},
		"of a Stack that stays":       {time.Time{}, "1", engine.Destroy, false},
		"of an update, not a destroy": {given.Add(time.Second), "1", engine.Up, false},
	} {
		stack := &v1.Stack{}
		stack.Name, stack.UID = "shop", test.uid
		if !test.deleted.IsZero() {
			stack.DeletionTimestamp = new(metav1.NewTime(test.deleted))
		}
		p := &Pass{Run: Run{Stack: stack, Request: &engine.Request{Operation: test.operation}}}
		if got := p.destroyer([]*approval.Approval{a}) != nil; got != test.want {
			t.Errorf("the approval covers a destroy %s: %t, want %t", name, got, test.want)
		}
	}
}

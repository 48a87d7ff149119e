package outcome

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/schedule"
)

func TestRejectedStatusLosesTheOutputsOfTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		refused bool
	}{
		"an object that is not valid":    {apierrors.NewInvalid(schema.GroupKind{}, "dev", nil), true},
		"a request that is too large":    {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), true},
		"an object too large for etcd":   {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), true},
		"a server that does not answer":  {apierrors.NewInternalError(errors.New("etcdserver: leader changed")), false},
		"an object that changed":         {apierrors.NewConflict(schema.GroupResource{}, "dev", nil), false},
		"no error":                       {nil, false},
		"a connection that was not made": {fmt.Errorf("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Rejected(c.err); got != c.refused {
				t.Errorf("refused %v", got)
			}
		})
	}
	saved := &v1.Stack{}
	saved.Status.Outputs = v1.StackOutputs{"a": {Raw: []byte("1")}}
	stack := saved.DeepCopy()
	stack.Status.Outputs = v1.StackOutputs{"b": {Raw: []byte("2")}}
	stack.Status.LastUpdate = &v1.StackUpdateState{Name: "second", Type: v1.UpType, State: v1.SucceededStackStateMessage, LastSuccessfulCommit: "main@1"}
	Reduce(&stack.Status, &saved.Status, apierrors.NewRequestEntityTooLargeError(strings.Repeat("x", 1<<20)))
	status := &stack.Status
	stalled := meta.FindStatusCondition(status.Conditions, v1.StalledCondition)
	if _, kept := status.Outputs["a"]; !kept || len(status.Outputs) != 1 || status.LastUpdate.Reason != v1.StalledTooLargeReason || status.LastUpdate.LastSuccessfulCommit != "main@1" ||
		stalled == nil || stalled.Reason != v1.StalledTooLargeReason || !strings.HasPrefix(stalled.Message, "up succeeded, and its resources stay, but the API server rejects") || len(stalled.Message) > 2000 {
		t.Errorf("the status is %+v", status)
	}
	if cause, wait := schedule.Due(stack, schedule.Version{}, time.Now().Add(24*time.Hour)); cause != "" || wait != 0 {
		t.Errorf("it is tried again: %q after %v", cause, wait)
	}
	stack.Generation++
	if cause, _ := schedule.Due(stack, schedule.Version{}, time.Now()); cause == "" {
		t.Error("it is not tried again after a change")
	}
}

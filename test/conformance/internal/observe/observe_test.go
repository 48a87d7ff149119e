package observe_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/conformance/internal/observe"
)

// stack returns a Stack of generation 2 whose status is of a generation.
func stack(observed int64, last *v1.StackUpdateState, mark func(*v1.StackStatus)) *v1.Stack {
	s := &v1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: 2}, Status: v1.StackStatus{ObservedGeneration: observed, LastUpdate: last}}
	mark(&s.Status)
	return s
}

func TestAStatusCountsForThePresentGenerationOnly(t *testing.T) {
	succeeded := func(generation int64) *v1.StackUpdateState {
		return &v1.StackUpdateState{Name: "a", Generation: generation, State: v1.SucceededStackStateMessage}
	}
	failed := &v1.StackUpdateState{Name: "b", Generation: 2, State: v1.FailedStackStateMessage, Message: "no\n rights"}
	applied := func(s *v1.StackStatus) { s.MarkReady("up succeeded") }
	retried := func(s *v1.StackStatus) { s.MarkReconciling(v1.ReconcilingRetryReason, "no rights") }
	stalled := func(s *v1.StackStatus) { s.MarkStalled(v1.StalledSpecInvalidReason, "no source") }
	for name, test := range map[string]struct {
		stack                  *v1.Stack
		ready, unready, failed bool
		shown                  string
	}{
		"ready":                          {stack(2, succeeded(2), applied), true, false, false, "Ready is True (ProcessingCompleted: up succeeded)"},
		"ready before the last change":   {stack(1, succeeded(1), applied), false, false, false, "of generation 1, not 2"},
		"ready without a run of it":      {stack(2, succeeded(1), applied), false, false, false, "Ready is True"},
		"ready without a run":            {stack(2, nil, applied), false, false, false, "Ready is True"},
		"retried after a failure":        {stack(2, failed, retried), false, true, true, "lastUpdate: failed: no rights"},
		"in progress after an older run": {stack(2, succeeded(1), retried), false, true, false, "Reconciling is True (RetryingAfterFailure: no rights)"},
		"stalled":                        {stack(2, nil, stalled), false, true, true, "Stalled is True (SpecInvalid: no source)"},
		"unseen":                         {stack(0, nil, func(*v1.StackStatus) {}), false, false, false, "no operator has set a condition"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := observe.Ready(test.stack); got != test.ready {
				t.Errorf("Ready is %t", got)
			}
			if got := observe.Unready(test.stack); got != test.unready {
				t.Errorf("Unready is %t", got)
			}
			if got := observe.Failed(test.stack); got != test.failed {
				t.Errorf("Failed is %t", got)
			}
			if got := observe.Describe(test.stack); !strings.Contains(got, test.shown) || strings.Contains(got, "\n") {
				t.Errorf("it is described as %q, want %q", got, test.shown)
			}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(test.stack)
			if err != nil {
				t.Fatal(err)
			}
			if got := observe.Describe(observe.Stack(&unstructured.Unstructured{Object: object})); got != observe.Describe(test.stack) {
				t.Errorf("converted, it is described as %q", got)
			}
		})
	}
	if observe.Ready(nil) || observe.Unready(nil) || observe.Failed(nil) || observe.Stack(nil) != nil {
		t.Error("a missing Stack has a status")
	}
}

func TestALineIsBounded(t *testing.T) {
	if got := observe.Line(strings.Repeat("ä\n", 1000)); len(got) > 700 || strings.Contains(got, "\n") || !strings.HasSuffix(got, "…") {
		t.Errorf("a line of %d bytes: %q", len(got), got)
	}
}

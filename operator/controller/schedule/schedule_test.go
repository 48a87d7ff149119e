package schedule

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

func TestDue(t *testing.T) {
	now := time.Now()
	cases := map[string]struct {
		change func(*v1.Stack)
		cause  string
		wait   time.Duration
	}{
		"an applied Stack is never due":           {func(*v1.Stack) {}, "", 0},
		"a new Stack is due":                      {func(s *v1.Stack) { s.Status.LastUpdate = nil }, "first update", 0},
		"a changed Stack is due":                  {func(s *v1.Stack) { s.Generation = 8 }, "new generation 8", 0},
		"a changed Program makes its Stack due":   {func(s *v1.Stack) { s.Status.LastUpdate.LastAttemptedCommit = "r0" }, "new revision r1", 0},
		"a changed input makes its Stack due":     {func(s *v1.Stack) { failed(9)(s); s.Status.LastUpdate.Inputs = "i0" }, "a ConfigMap or Secret that it refers to has changed", 0},
		"a request makes a Stack due":             {func(s *v1.Stack) { s.Annotations = map[string]string{v1.ReconcileRequestAnnotation: "x"} }, "requested by annotation", 0},
		"a periodic Stack waits a minute at last": {func(s *v1.Stack) { s.Spec.ContinueResyncOnCommitMatch = true }, "", time.Minute},
		"a periodic Stack is due at its time": {
			func(s *v1.Stack) {
				s.Spec.ContinueResyncOnCommitMatch, s.Spec.ResyncFrequencySeconds = true, 90
				s.Status.LastUpdate.LastResyncTime = metav1.NewTime(now.Add(-90 * time.Second))
			}, "periodic run", 0,
		},
		"a failed Stack waits":                 {failed(0), "", 5 * time.Second},
		"a Stack that failed again waits more": {failed(3), "", 40 * time.Second},
		"a wait has an end":                    {failed(1000), "", 5 * time.Minute},
		"a wait has the end that the Stack gives it": {
			func(s *v1.Stack) { failed(1000)(s); s.Spec.RetryMaxBackoffDurationSeconds = 7 }, "", 7 * time.Second,
		},
		"a change ends the wait": {func(s *v1.Stack) { failed(1000)(s); s.Generation = 8 }, "new generation 8", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stack := &v1.Stack{}
			stack.Generation = 7
			stack.Status.LastUpdate = &v1.StackUpdateState{
				Generation: 7, State: v1.SucceededStackStateMessage,
				LastAttemptedCommit: "r1", Inputs: "i1", LastResyncTime: metav1.NewTime(now),
			}
			c.change(stack)
			if cause, wait := Due(stack, Version{"r1", "i1"}, now); cause != c.cause || wait != c.wait {
				t.Errorf("due %q after %v, want %q after %v", cause, wait, c.cause, c.wait)
			}
		})
	}
}

func failed(times int64) func(*v1.Stack) {
	return func(s *v1.Stack) {
		s.Status.LastUpdate.State, s.Status.LastUpdate.Failures = v1.FailedStackStateMessage, times
	}
}

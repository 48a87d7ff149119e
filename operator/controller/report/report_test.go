package report

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/events"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

func TestEventsOfATeamHaveABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := events.NewFakeRecorder(10_000)
		e := NewEvents(recorder)
		say := func(namespace string) {
			stack := &v1.Stack{}
			stack.Namespace = namespace
			e.Add(stack, "Warning", "StackUpdateFailure", strings.Repeat("x", 100_000))
		}
		for range 5000 {
			say("hostile")
		}
		if got := len(recorder.Events); got != eventBurst {
			t.Errorf("%d events at once, want %d", got, eventBurst)
		}
		if event := <-recorder.Events; len(event) > LongestNote+100 {
			t.Errorf("an event has %d bytes", len(event))
		}
		before := len(recorder.Events)
		say("other")
		if len(recorder.Events) != before+1 {
			t.Error("another team has no events because of it")
		}
		<-time.After(time.Hour)
		for i := range 100 {
			say(fmt.Sprint("later-", i))
		}
		if len(e.limiters) != 100 {
			t.Errorf("%d namespaces are kept, want the 100 of late", len(e.limiters))
		}
	})
}

func TestMessagesOfATeamHaveABound(t *testing.T) {
	long := strings.Repeat("ä", 100_000)
	status := &v1.StackStatus{LastUpdate: &v1.StackUpdateState{Message: long}}
	status.MarkStalled(v1.StalledUpdateFailedReason, long)
	Bound(status)
	for _, c := range status.Conditions {
		if len(c.Message) > LongestMessage+3 || !strings.HasPrefix(c.Message, "ä") || !strings.HasSuffix(c.Message, "ä...") {
			t.Errorf("%s says %d bytes, want %d", c.Type, len(c.Message), LongestMessage)
		}
	}
	if len(status.LastUpdate.Message) > LongestMessage+3 {
		t.Errorf("the last update says %d bytes", len(status.LastUpdate.Message))
	}
	if got := (Error{fmt.Errorf("%s", long)}).Error(); len(got) > LongestNote+3 {
		t.Errorf("a line of the log has %d bytes", len(got))
	}
}

package lookup

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/operator/source"
)

func stackKey(namespace string, number int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(number)}
}

// asked is a lookup at a server. The test decides when the server answers.
type asked struct {
	stack    types.NamespacedName
	question string
	answer   chan error
	ended    <-chan struct{}
}

// servers starts lookups and receives those that arrive.
type servers struct {
	*Lookups
	arrived chan asked
	woken   chan types.NamespacedName
}

func newServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{arrived: make(chan asked, 100), woken: make(chan types.NamespacedName, 100)}
	s.Lookups = New(func(stack types.NamespacedName) { s.woken <- stack })
	t.Cleanup(s.Close)
	return s
}

func (s *servers) find(stack types.NamespacedName, question string, good bool) *Finding {
	return s.Find(stack, question, func(*Finding) bool { return good }, func(ctx context.Context) (source.Git, error) {
		a := asked{stack, question, make(chan error), ctx.Done()}
		s.arrived <- a
		select {
		case err := <-a.answer:
			return source.Git{Commit: question}, err
		case <-ctx.Done():
			return source.Git{}, ctx.Err()
		}
	})
}

func TestSilentServersDelayTheirNamespaceOnly(t *testing.T) {
	s := newServers(t)
	for i := range 100 {
		if s.find(stackKey("many", i), "x", true) != nil {
			t.Fatal("an answer out of nowhere")
		}
	}
	other := stackKey("few", 0)
	s.find(other, "x", true)
	silent := map[types.NamespacedName]bool{}
	for {
		a := <-s.arrived
		if a.stack == other {
			a.answer <- nil
			break
		}
		silent[a.stack] = true
	}
	if woken := <-s.woken; woken != other {
		t.Errorf("%v was woken, want %v", woken, other)
	}
	if found := s.find(other, "x", true); found == nil || found.Err != nil || found.Git.Commit != "x" {
		t.Errorf("found %+v, want the commit", found)
	}
	if len(silent) > lookupsPerNamespace || len(s.arrived) > lookupsPerNamespace-len(silent) {
		t.Errorf("%d servers of one namespace are asked at once, want %d", len(silent)+len(s.arrived), lookupsPerNamespace)
	}
}

func TestConcurrentLookupsAreBounded(t *testing.T) {
	s := newServers(t)
	for _, namespace := range []string{"a", "b", "c", "d", "e"} {
		for i := range 3 {
			s.find(stackKey(namespace, i), "x", true)
		}
	}
	var waiting []asked
	for range lookupsAtOnce {
		waiting = append(waiting, <-s.arrived)
	}
	if len(s.arrived) > 0 {
		t.Errorf("more than %d are asked at once", lookupsAtOnce)
	}
	// The next lookup is of the namespace that had no turn yet.
	waiting[0].answer <- errors.New("gone")
	if next := <-s.arrived; next.stack.Namespace != "e" {
		t.Errorf("next is %v, want one of e", next.stack)
	}
}

func TestChangingLookupsDelayNoOtherTeam(t *testing.T) {
	s := newServers(t)
	var silent []asked
	for i := range lookupsAtOnce {
		s.find(stackKey(fmt.Sprint("hostile-", i/lookupsPerNamespace), i), "first", true)
		silent = append(silent, <-s.arrived)
	}
	other := stackKey("other", 0)
	s.find(other, "x", true)
	s.find(silent[0].stack, "second", true)
	<-silent[0].ended
	if next := <-s.arrived; next.stack != other {
		t.Errorf("%v is asked for next, want %v: whoever changes its question goes on for ever", next.stack, other)
	}
}

func TestFindingIsReusedUntilItIsOld(t *testing.T) {
	s := newServers(t)
	stack := stackKey("a", 0)
	for range 3 {
		s.find(stack, "x", true)
	}
	(<-s.arrived).answer <- nil
	<-s.woken
	for range 3 {
		if s.find(stack, "x", true) == nil {
			t.Fatal("the answer was not kept")
		}
	}
	if len(s.arrived) > 0 {
		t.Error("it was asked again though the answer is good")
	}
	if s.find(stack, "x", false) != nil {
		t.Error("an old answer was given")
	}
	(<-s.arrived).answer <- nil
	<-s.woken
}

func TestANewLookupCancelsTheActiveOne(t *testing.T) {
	s := newServers(t)
	stack := stackKey("a", 0)
	s.find(stack, "old", true)
	old := <-s.arrived
	s.find(stack, "new", true)
	<-old.ended
	(<-s.arrived).answer <- nil
	<-s.woken
	if found := s.find(stack, "new", true); found == nil || found.Git.Commit != "new" {
		t.Errorf("found %+v, want what was asked last", found)
	}
	if len(s.woken) > 0 {
		t.Error("an answer that nobody waits for woke the Stack")
	}
}

func TestDeletedStackStartsNoLookup(t *testing.T) {
	s := newServers(t)
	var stacks []types.NamespacedName
	for i := range lookupsPerNamespace + 2 {
		stacks = append(stacks, stackKey("a", i))
		s.find(stacks[i], "x", true)
	}
	var first []asked
	for range lookupsPerNamespace {
		first = append(first, <-s.arrived)
	}
	// One Stack is forgotten while its lookup waits, and the others during their lookups.
	s.Forget(stacks[lookupsPerNamespace])
	for _, a := range first {
		s.Forget(a.stack)
		<-a.ended
	}
	last := <-s.arrived
	if last.stack != stacks[lookupsPerNamespace+1] || len(s.arrived) > 0 {
		t.Errorf("asked for %v, want the one that is left", last.stack)
	}
	last.answer <- nil
	<-s.woken
	s.running.Wait()
	if running, waiting := s.slots.Busy(); running+waiting > 0 || len(s.active) > 0 {
		t.Errorf("%d have a slot and %d wait after all have ended", running, waiting)
	}
}

func TestStoppingOperatorStartsNoLookup(t *testing.T) {
	s := newServers(t)
	s.find(stackKey("a", 0), "x", true)
	a := <-s.arrived
	s.Close()
	<-a.ended
	if len(s.woken) > 0 {
		t.Error("a Stack is woken though nobody reconciles any more")
	}
}

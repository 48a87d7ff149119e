package slots

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func stackKey(namespace string, number int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(number)}
}

func always(bool) bool { return true }

// advance advances the fake clock of testing/synctest.
func advance(by time.Duration) { <-time.After(by) }

func TestManyStacksOfOneTeamDelayNoOther(t *testing.T) {
	var woken []types.NamespacedName
	s := New(2, 0, always, func(key types.NamespacedName) { woken = append(woken, key) })
	for i := range 500 {
		s.Take(stackKey("many", i))
	}
	for i := range 3 {
		if s.Take(stackKey("few", i)) {
			t.Fatalf("few/%d got a slot that was not free", i)
		}
	}
	if running, waiting := s.Busy(); running != 2 || waiting != 501 {
		t.Fatalf("%d run and %d wait, want 2 and 501", running, waiting)
	}
	// Whichever run ends, the namespaces take turns at the next slots.
	s.Leave(stackKey("many", 0))
	s.Leave(stackKey("many", 1))
	s.Leave(stackKey("few", 0))
	want := []types.NamespacedName{stackKey("few", 0), stackKey("many", 2), stackKey("few", 1)}
	if !slices.Equal(woken, want) {
		t.Errorf("slots went to %v, want %v", woken, want)
	}
}

func TestSlotsAreBoundByMemory(t *testing.T) {
	room := false
	s := New(4, 0, func(bool) bool { return room }, func(types.NamespacedName) {})
	if !s.Take(stackKey("a", 1)) {
		t.Error("the only run waits for memory: it would wait for ever")
	}
	if s.Take(stackKey("a", 2)) {
		t.Error("a second run began without memory for it")
	}
	room = true
	if !s.Take(stackKey("a", 2)) {
		t.Error("a run waits though there is memory")
	}
}

func TestDeletedStackReleasesItsPlace(t *testing.T) {
	var woken []types.NamespacedName
	s := New(1, 0, always, func(key types.NamespacedName) { woken = append(woken, key) })
	for i := range 3 {
		s.Take(stackKey("a", i))
	}
	s.Leave(stackKey("a", 1))
	s.Leave(stackKey("a", 0))
	if want := []types.NamespacedName{stackKey("a", 2)}; !slices.Equal(woken, want) {
		t.Errorf("woken %v, want %v", woken, want)
	}
	s.Leave(stackKey("a", 2))
	if running, waiting := s.Busy(); running != 0 || waiting != 0 {
		t.Errorf("%d run and %d wait at the end", running, waiting)
	}
}

// fill calls take for the given number of Stacks of a namespace and returns how many
// got a slot.
func fill(s *Slots, namespace string, stacks int) (got int) {
	for i := range stacks {
		if s.Take(stackKey(namespace, i)) {
			got++
		}
	}
	return got
}

func TestEndlessRunsOfOneTeamDelayNoOther(t *testing.T) {
	for count, share := range map[int]int{1: 0, 2: 1, 3: 1, 8: 4} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				woken := 0
				s := forRuns(count, always, func(types.NamespacedName) { woken++ })
				defer s.Close()
				if got := fill(s, "hostile", 500); got != count {
					t.Fatalf("%d runs of the only team, want all %d", got, count)
				}
				if got := fill(s, "other", count); got != share {
					t.Errorf("%d runs of another team at once, want its share of %d", got, share)
				}
				// No hostile run ever ends. When the other team's runs end, that team gets their
				// slots again.
				for i := range share {
					s.Leave(stackKey("other", i))
				}
				if got := s.running()["other"]; got != share {
					t.Errorf("%d runs of another team next, want its share of %d", got, share)
				}
				if s.running()["hostile"] != count {
					t.Errorf("the hostile team has %d runs, want the %d that it began with", s.running()["hostile"], count)
				}
				advance(runTurn)
				synctest.Wait()
				if s.running()["other"] == 0 {
					t.Error("another team waits for a run that goes on for longer than a turn")
				}
			})
		})
	}
}

func TestManyHostileTeamsDelayAnotherForATurnAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := make(chan types.NamespacedName, 100)
		s := forRuns(2, always, func(stack types.NamespacedName) { woken <- stack })
		defer s.Close()
		for i := range 2 {
			fill(s, fmt.Sprint("hostile-", i), 100)
		}
		began := time.Now()
		if s.Take(stackKey("other", 0)) {
			t.Fatal("a third team has a run though two have theirs within their turns")
		}
		if next := <-woken; next != stackKey("other", 0) || time.Since(began) > runTurn {
			t.Errorf("%v began after %v, want that of the other team after %v", next, time.Since(began), runTurn)
		}
	})
}

func TestRunsBeyondTheCountHaveABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := forRuns(1, always, func(types.NamespacedName) {})
		defer s.Close()
		for i := range 2 * runsBeyond {
			s.Take(stackKey(fmt.Sprint(i), 0))
		}
		advance(2 * runsBeyond * runTurn)
		synctest.Wait()
		if running, _ := s.Busy(); running != 1+runsBeyond {
			t.Errorf("%d runs, want %d", running, 1+runsBeyond)
		}
	})
}

func TestTeamThatHasManyRunsGivesMemoryToOneThatHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := 2
		s := forRuns(8, func(first bool) bool { return free >= 2 || first && free >= 1 }, func(types.NamespacedName) {})
		defer s.Close()
		var stopped []types.NamespacedName
		begin := func(stack types.NamespacedName) {
			if !s.Take(stack) {
				t.Fatalf("%v does not begin", stack)
			}
			s.Stoppable(stack, func() { stopped = append(stopped, stack) })
			advance(time.Second)
		}
		begin(stackKey("small", 0))
		for i := range 3 {
			begin(stackKey("hostile", i))
		}
		free = 1
		if s.Take(stackKey("hostile", 3)) {
			t.Error("a further run took the memory that is left for another team")
		}
		free = 0 // the hostile runs take more memory
		if s.Take(stackKey("other", 0)) {
			t.Error("a run began without memory for it")
		}
		advance(10 * memoryPoll)
		if want := []types.NamespacedName{stackKey("hostile", 0)}; !slices.Equal(stopped, want) {
			t.Fatalf("%v were stopped, want one run of the team that has many: %v", stopped, want)
		}
		free = 1
		s.Leave(stackKey("hostile", 0))
		if !s.Has(stackKey("other", 0)) || s.running()["other"] != 1 {
			t.Error("the memory did not go to the team that had no run")
		}
	})
}

func TestSingleRunThatUsesAllMemoryGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		s := forRuns(2, func(bool) bool { return false }, func(types.NamespacedName) {})
		defer s.Close()
		began := time.Now()
		s.Take(stackKey("hostile", 0))
		s.Stoppable(stackKey("hostile", 0), func() { stopped = true })
		s.Take(stackKey("other", 0))
		advance(longRun - time.Second)
		if stopped {
			t.Errorf("the only run of a team was stopped after %v, want not before %v", time.Since(began), longRun)
		}
		advance(time.Second + memoryPoll)
		if !stopped {
			t.Error("a run that leaves no memory goes on though another team waits")
		}
	})
}

func TestMemoryThatOthersFreeIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := false
		woken := make(chan types.NamespacedName, 1)
		s := forRuns(2, func(bool) bool { return room }, func(stack types.NamespacedName) { woken <- stack })
		defer s.Close()
		s.Take(stackKey("a", 0))
		s.Take(stackKey("b", 0))
		room = true
		if next := <-woken; next != stackKey("b", 0) {
			t.Errorf("%v began", next)
		}
	})
}

func TestDeletedNamespacesAreForgotten(t *testing.T) {
	s := forRuns(1, always, func(types.NamespacedName) {})
	defer s.Close()
	for i := range 100 {
		s.Take(stackKey(fmt.Sprint(i), 0))
	}
	for i := range 100 {
		s.Leave(stackKey(fmt.Sprint(i), 0))
	}
	if len(s.last)+len(s.held)+len(s.waiting) != 0 {
		t.Errorf("%d turns, %d slots and %d places are kept of nobody", len(s.last), len(s.held), len(s.waiting))
	}
}

func TestSpareRunsGiveWay(t *testing.T) {
	var woken []types.NamespacedName
	s := New(2, 0, always, func(key types.NamespacedName) { woken = append(woken, key) })
	stopped := 0
	stop := func() { stopped++ }
	if !s.TakeSpare(stackKey("a", 1), stop) || !s.Take(stackKey("a", 2)) || stopped != 0 {
		t.Fatalf("a slot is not free; %d spare runs stopped", stopped)
	}
	if s.TakeSpare(stackKey("b", 1), stop) {
		t.Error("a spare run got a slot that was not free")
	}
	for range 2 {
		if s.Take(stackKey("a", 3)) || stopped != 1 {
			t.Errorf("the spare run was stopped %d times, want once", stopped)
		}
	}
	if s.TakeSpare(stackKey("b", 1), stop) {
		t.Error("a spare run overtook a waiting run")
	}
	s.Leave(stackKey("a", 1))
	if !slices.Equal(woken, []types.NamespacedName{stackKey("a", 3)}) {
		t.Errorf("the slot went to %v", woken)
	}
}

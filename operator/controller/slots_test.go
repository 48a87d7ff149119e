package controller

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func stackKey(namespace string, number int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(number)}
}

func TestManyStacksOfOneTeamDoNotHoldUpAnothers(t *testing.T) {
	var woken []types.NamespacedName
	s := newSlots(2, func() bool { return true }, func(key types.NamespacedName) { woken = append(woken, key) })
	for i := range 500 {
		s.take(stackKey("many", i))
	}
	for i := range 3 {
		if s.take(stackKey("few", i)) {
			t.Fatalf("few/%d got a slot that was not free", i)
		}
	}
	if running, waiting := s.busy(); running != 2 || waiting != 501 {
		t.Fatalf("%d run and %d wait, want 2 and 501", running, waiting)
	}
	// Whichever run ends, the next slots alternate between the two.
	s.leave(stackKey("many", 0))
	s.leave(stackKey("many", 1))
	s.leave(stackKey("few", 0))
	want := []types.NamespacedName{stackKey("few", 0), stackKey("many", 2), stackKey("few", 1)}
	if !slices.Equal(woken, want) {
		t.Errorf("slots went to %v, want %v", woken, want)
	}
}

func TestSlotsAreBoundByMemory(t *testing.T) {
	room := false
	s := newSlots(4, func() bool { return room }, func(types.NamespacedName) {})
	if !s.take(stackKey("a", 1)) {
		t.Error("the only run waits for memory: it would wait for ever")
	}
	if s.take(stackKey("a", 2)) {
		t.Error("a second run began without memory for it")
	}
	room = true
	if !s.take(stackKey("a", 2)) {
		t.Error("a run waits though there is memory")
	}
}

func TestStackThatIsGoneGivesUpItsPlace(t *testing.T) {
	var woken []types.NamespacedName
	s := newSlots(1, func() bool { return true }, func(key types.NamespacedName) { woken = append(woken, key) })
	for i := range 3 {
		s.take(stackKey("a", i))
	}
	s.leave(stackKey("a", 1))
	s.leave(stackKey("a", 0))
	if want := []types.NamespacedName{stackKey("a", 2)}; !slices.Equal(woken, want) {
		t.Errorf("woken %v, want %v", woken, want)
	}
	s.leave(stackKey("a", 2))
	if running, waiting := s.busy(); running != 0 || waiting != 0 {
		t.Errorf("%d run and %d wait at the end", running, waiting)
	}
}

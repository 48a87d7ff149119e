package orders

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// seenOrder returns an order of namespace n that was created some seconds after others.
func seenOrder(name string, second int64) *metav1.PartialObjectMetadata {
	order := &metav1.PartialObjectMetadata{}
	order.Namespace, order.Name, order.CreationTimestamp = "n", name, metav1.NewTime(time.Unix(second, 0))
	return order
}

func TestTheEndOfAnOrderWakesOnlyTheOldestThatWaits(t *testing.T) {
	s := &seen{}
	s.finish()
	var all []*metav1.PartialObjectMetadata
	for i := range 100 {
		all = append(all, seenOrder(fmt.Sprintf("o%02d", i), int64(i)))
		s.add(all[i])
	}
	for i, order := range all {
		within, err := s.within("n", place{created: order.CreationTimestamp, name: order.Name}, 2)
		if err != nil || within != (i < 2) {
			t.Fatalf("%s is within a limit of 2: %t (error %v)", order.Name, within, err)
		}
	}
	// Two orders end before the first that this wakes is handled.
	if got := []string{s.remove(all[0]), s.remove(all[1])}; !slices.Equal(got, []string{"o02", "o03"}) {
		t.Errorf("the ends of o00 and o01 wake %v", got)
	}
	if within, err := s.within("n", place{created: all[3].CreationTimestamp, name: "o03"}, 2); !within || err != nil {
		t.Errorf("o03 is not within the limit (error %v)", err)
	}
	for _, order := range all[2:] {
		s.remove(order)
	}
	if len(s.places) != 0 {
		t.Errorf("left: %v", s.places)
	}
}

func TestOrdersOfOneSecondAreInTheOrderOfTheirNames(t *testing.T) {
	s := &seen{}
	s.finish()
	for _, name := range []string{"c", "a", "b", "a"} {
		s.add(seenOrder(name, 1))
	}
	for name, want := range map[string]bool{"a": true, "b": true, "c": false} {
		if within, err := s.within("n", place{created: metav1.NewTime(time.Unix(1, 0)), name: name}, 2); err != nil || within != want {
			t.Errorf("%s is within a limit of 2: %t (error %v), want %t", name, within, err, want)
		}
	}
}

// TestALaterOrderOfTheSameSecondTakesNoPlace handles orders of one second one after the other, the last name first, as a team
// creates them.
func TestALaterOrderOfTheSameSecondTakesNoPlace(t *testing.T) {
	check := func(s *seen, name string, want bool) {
		t.Helper()
		within, err := s.within("n", place{created: metav1.NewTime(time.Unix(1, 0)), name: name}, 1)
		if err != nil || within != want {
			t.Errorf("%s is within a limit of 1: %t (error %v), want %t", name, within, err, want)
		}
	}
	s := &seen{}
	s.finish()
	s.add(seenOrder("z", 1))
	check(s, "z", true)
	s.add(seenOrder("a", 1))
	check(s, "a", false)
	check(s, "z", true)

	// After a restart of the operator, the Stack shows who came first.
	s = &seen{}
	s.setStack("n", "z", true)
	s.add(seenOrder("z", 1))
	s.add(seenOrder("a", 1))
	s.finish()
	check(s, "a", false)
	check(s, "z", true)

	// The end of the order makes room.
	s.setStack("n", "z", false)
	if next := s.remove(seenOrder("z", 1)); next != "a" {
		t.Errorf("the end of z wakes %q", next)
	}
	check(s, "a", true)
	if len(s.stacks) != 0 || len(s.places["n"]) != 1 {
		t.Errorf("left: %v, %v", s.stacks, s.places)
	}
}

func TestNoOrderIsCountedBeforeTheWatchIsComplete(t *testing.T) {
	k, s := &known{}, &seen{}
	kind := Kind{Name: "Database"}
	of := key{kind, "n", "a"}
	check := func(when string, want error) {
		t.Helper()
		if _, err := k.within(of, metav1.NewTime(time.Unix(1, 0)), 1); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", when, err, want)
		}
	}
	check("without a watch", errNotSynced)
	k.set(kind, s)
	s.add(seenOrder("a", 1))
	check("during the first list", errNotSynced)
	if all := s.finish(); !slices.Equal(all["n"], []string{"a"}) {
		t.Errorf("the watch wakes %v", all)
	}
	check("after the first list", nil)
	k.set(kind, nil)
	check("after the end of the watch", errNotSynced)
}

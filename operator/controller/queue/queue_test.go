package queue

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newTestQueue(t *testing.T) *Fair[reconcile.Request] {
	t.Helper()
	q := newFair("", Namespace, Options(Workers, Namespace, nil).RateLimiter)
	t.Cleanup(q.ShutDown)
	return q
}

func request(namespace string, number int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(number)}}
}

func TestPushOfManyStacksDelaysNoOtherTeam(t *testing.T) {
	q := newTestQueue(t)
	for i := range 500 {
		q.Add(request("hostile", i))
	}
	for i := range 2 {
		q.Add(request("other", i))
	}
	var got []string
	for range 5 {
		item, _ := q.Get()
		got = append(got, item.Namespace)
		// With continuous pushes, the Stack is in the queue again before its reconciliation
		// ends.
		q.Add(item)
		q.Done(item)
	}
	if want := []string{"hostile", "other", "hostile", "other", "hostile"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want turns: %v", got, want)
	}
}

func TestSlowStacksOfOneTeamLeaveWorkersToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t)
		served := make(chan reconcile.Request, 100)
		for range Workers {
			go func() {
				if item, shutdown := q.Get(); !shutdown {
					served <- item // the reconciliation never ends
				}
			}()
		}
		for i := range 10 {
			q.Add(request("hostile", i))
		}
		synctest.Wait()
		if len(served) != workersPerParty {
			t.Fatalf("%d workers are with one team, want %d", len(served), workersPerParty)
		}
		q.Add(request("other", 0))
		for range workersPerParty {
			<-served
		}
		if next := <-served; next != request("other", 0) {
			t.Errorf("%v is served, want the other team's", next)
		}
		q.ShutDown()
	})
}

func TestStackThatRunsMakesRoomForAnotherOfItsTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t)
		served := make(chan reconcile.Request, 100)
		for range Workers {
			go func() {
				for {
					item, shutdown := q.Get()
					if shutdown {
						return
					}
					served <- item
				}
			}()
		}
		for i := range workersPerParty + 1 {
			q.Add(request("team", i))
		}
		synctest.Wait()
		for len(served) > 1 {
			<-served
		}
		q.Release(<-served)
		if next := <-served; next != request("team", workersPerParty) {
			t.Errorf("%v is served, want the one that had no worker", next)
		}
		q.ShutDown()
	})
}

func TestQueueForgetsFinishedItems(t *testing.T) {
	q := newTestQueue(t)
	for i := range 100 {
		q.Add(request(fmt.Sprint(i), i))
		q.Add(request(fmt.Sprint(i), i+1))
	}
	for range 200 {
		item, _ := q.Get()
		q.Release(item)
		q.Done(item)
	}
	if n := len(q.turns.waiting) + len(q.turns.order) + len(q.turns.working) + len(q.turns.counted); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

func TestErrorsOfOneTeamDelayNoOthersRetry(t *testing.T) {
	limiter := Options(Workers, Namespace, nil).RateLimiter
	for i := range 10_000 {
		limiter.When(request("hostile", i))
	}
	if wait := limiter.When(request("other", 0)); wait != firstErrorRetry {
		t.Errorf("the first retry of another team comes after %v, want %v", wait, firstErrorRetry)
	}
}

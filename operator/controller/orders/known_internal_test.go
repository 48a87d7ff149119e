package orders

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// TestOrdersOfOneSecondDoNotExceedTheLimit lets the controller see orders of one second one after the other, the last name
// first, as a team creates them.
func TestOrdersOfOneSecondDoNotExceedTheLimit(t *testing.T) {
	kind := Kind{Resource: "databases", Singular: "database", Name: "Database"}
	second := metav1.NewTime(time.Unix(1000, 0))
	informer := func() cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(nil, &metav1.PartialObjectMetadata{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	orders, stacks := informer(), informer()
	start := func() *known {
		k := &known{}
		k.set(kind, orders, stacks)
		return k
	}
	create := func(store cache.SharedIndexInformer, namespace, name string, created metav1.Time) {
		t.Helper()
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), CreationTimestamp: created}}
		if err := store.GetIndexer().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	admit := func(k *known, name string, created metav1.Time, want bool) {
		t.Helper()
		if got := k.admit(key{kind, "team-web", name}, types.UID(name), created, "web", 1); got != want {
			t.Errorf("order %s is one of the limit: %t, want %t", name, got, want)
		}
	}
	k := start()
	create(orders, "team-web", "z", second)
	admit(k, "z", second, true)
	create(orders, "team-web", "a", second)
	admit(k, "a", second, false)
	admit(k, "z", second, true)

	// After a restart of the operator, the Stack shows who came first.
	create(stacks, kind.Namespace(), "web--z", second)
	k = start()
	admit(k, "a", second, false)
	admit(k, "z", second, true)

	// The end of the order makes room.
	for _, each := range []struct {
		store           cache.SharedIndexInformer
		namespace, name string
	}{{orders, "team-web", "z"}, {stacks, kind.Namespace(), "web--z"}} {
		if err := each.store.GetIndexer().Delete(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: each.namespace, Name: each.name}}); err != nil {
			t.Fatal(err)
		}
	}
	k.forget(key{kind, "team-web", "z"}, "z")
	admit(k, "a", second, true)
	if len(k.admitted) != 1 {
		t.Errorf("the places of %d orders are kept", len(k.admitted))
	}
}

package orders

import (
	"errors"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// errNotSynced means that the watches of a kind have not seen the order, or not all objects that existed at their start, so
// too few orders are counted. The watches add the order again when they have.
var errNotSynced = errors.New("the watches of the orders are not complete")

// known holds the orders that the watches have seen. A team may create any number of orders, and the controller finds the
// place of each among all orders of the namespace. A list from the API server for each would let one team delay all others.
type known struct {
	mutex sync.Mutex
	kinds map[Kind]*seen
}

// set sets the orders of a kind; nil removes them.
func (k *known) set(kind Kind, orders *seen) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.kinds == nil {
		k.kinds = map[Kind]*seen{}
	}
	if k.kinds[kind] = orders; orders == nil {
		delete(k.kinds, kind)
	}
}

// within reports whether an order is one of the limit of its team, and then keeps its place. An order that has its place, by
// a Stack or by an earlier call, comes before every order that has none: a younger order could otherwise take a second place
// beside it, because the creation times of orders have only seconds. Among equals the older order comes first, and those of
// the same second in the order of their names. The end of another order wakes one that is not within the limit.
func (k *known) within(of key, created metav1.Time, limit int) (bool, error) {
	k.mutex.Lock()
	orders := k.kinds[of.kind]
	k.mutex.Unlock()
	if orders == nil {
		return false, errNotSynced
	}
	return orders.within(of.namespace, place{created: created, name: of.name}, limit)
}

// seen holds the orders of one kind that a watch has seen, and which of them have a Stack.
type seen struct {
	mutex sync.Mutex
	// complete says that the watches have seen all objects that existed at their start.
	complete bool
	// places maps each namespace to its orders, sorted with older.
	places map[string][]place
	// stacks has the orders that have a Stack.
	stacks map[types.NamespacedName]bool
}

// place is the place of an order among those of its namespace.
type place struct {
	created metav1.Time
	name    string
	// held says that the order was within the team's limit, and waits that it was beyond it.
	held, waits bool
}

// older compares the places of two orders. Orders of the same second are in the order of their names.
func older(one, other place) int {
	if c := one.created.Compare(other.created.Time); c != 0 {
		return c
	}
	return strings.Compare(one.name, other.name)
}

// add adds an order.
func (s *seen) add(order *metav1.PartialObjectMetadata) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.places == nil {
		s.places = map[string][]place{}
	}
	there := s.places[order.Namespace]
	added := place{created: order.CreationTimestamp, name: order.Name}
	if at, found := slices.BinarySearchFunc(there, added, older); !found {
		s.places[order.Namespace] = slices.Insert(there, at, added)
	}
}

// remove removes an order. It returns the name of the oldest order of the namespace that waits for the place, or "".
func (s *seen) remove(order *metav1.PartialObjectMetadata) (next string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	there := s.places[order.Namespace]
	if at, found := slices.BinarySearchFunc(there, place{created: order.CreationTimestamp, name: order.Name}, older); found {
		there = slices.Delete(there, at, at+1)
		s.places[order.Namespace] = there
	}
	if len(there) == 0 {
		delete(s.places, order.Namespace)
	}
	at := slices.IndexFunc(there, func(each place) bool { return each.waits })
	if at < 0 {
		return ""
	}
	// The end of one more order wakes the one after this.
	there[at].waits = false
	return there[at].name
}

// setStack records whether an order has a Stack.
func (s *seen) setStack(namespace, order string, exists bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stacks == nil {
		s.stacks = map[types.NamespacedName]bool{}
	}
	of := types.NamespacedName{Namespace: namespace, Name: order}
	if s.stacks[of] = exists; !exists {
		delete(s.stacks, of)
	}
}

// within is as [known.within].
func (s *seen) within(namespace string, of place, limit int) (bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	there := s.places[namespace]
	at, found := slices.BinarySearchFunc(there, of, older)
	if !s.complete || !found {
		return false, errNotSynced
	}
	has := func(p place) bool {
		return p.held || s.stacks[types.NamespacedName{Namespace: namespace, Name: p.name}]
	}
	placed, before := has(there[at]), 0
	for i, other := range there {
		if held := has(other); i != at && (held && !placed || held == placed && i < at) {
			before++
		}
	}
	is := before < limit
	there[at].held, there[at].waits = there[at].held || is, !is
	return is, nil
}

// finish says that the watch has seen all orders that existed at its start. It returns the names of the orders by their
// namespaces.
func (s *seen) finish() map[string][]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.complete = true
	all := map[string][]string{}
	for namespace, places := range s.places {
		for _, each := range places {
			all[namespace] = append(all[namespace], each.name)
		}
	}
	return all
}

// strip removes the fields of an order that no caller reads, because the watches keep all orders in memory, and a team may
// write 256 KiB of annotations into each.
func strip(object any) (any, error) {
	if order, is := object.(*metav1.PartialObjectMetadata); is {
		order.Annotations, order.ManagedFields = nil, nil
	}
	return object, nil
}

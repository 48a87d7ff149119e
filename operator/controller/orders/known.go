package orders

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// known holds the orders that the watches have seen. A team may create any number of orders, and the controller compares each
// with all others of the namespace. A list from the API server for each comparison would let one team delay all others.
type known struct {
	mutex  sync.Mutex
	stores map[Kind]cache.SharedIndexInformer
}

// set sets the watch of a kind; nil removes it.
func (k *known) set(kind Kind, store cache.SharedIndexInformer) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.stores == nil {
		k.stores = map[Kind]cache.SharedIndexInformer{}
	}
	if k.stores[kind] = store; store == nil {
		delete(k.stores, kind)
	}
}

// complete reports whether the watch of a kind has seen all orders that existed at its start. Before that, older returns too
// small a number, and a team could exceed its limit.
func (k *known) complete(kind Kind) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	store := k.stores[kind]
	return store != nil && store.HasSynced()
}

// in returns the orders of a kind in a namespace.
func (k *known) in(kind Kind, namespace string) []*metav1.PartialObjectMetadata {
	k.mutex.Lock()
	store := k.stores[kind]
	k.mutex.Unlock()
	if store == nil {
		return nil
	}
	// The index exists, so there is no error.
	objects, _ := store.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	found := make([]*metav1.PartialObjectMetadata, 0, len(objects))
	for _, object := range objects {
		if order, is := object.(*metav1.PartialObjectMetadata); is {
			found = append(found, order)
		}
	}
	return found
}

// older returns the number of orders of the kind in the namespace of an order that were created before it.
func (k *known) older(of key, created metav1.Time) int {
	older := 0
	for _, other := range k.in(of.kind, of.namespace) {
		// Orders of the same second are in the order of their names.
		if other.CreationTimestamp.Before(&created) || other.CreationTimestamp.Equal(&created) && other.Name < of.name {
			older++
		}
	}
	return older
}

// strip removes the fields of an order that no caller reads, because the watches keep all orders in memory, and a team may
// write 256 KiB of annotations into each.
func strip(object any) (any, error) {
	if order, is := object.(*metav1.PartialObjectMetadata); is {
		order.Annotations, order.ManagedFields = nil, nil
	}
	return object, nil
}

package orders

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// known holds the orders that the watches have seen. A team may create any number of orders, and the controller compares each
// with all others of the namespace. A list from the API server for each comparison would let one team delay all others.
type known struct {
	mutex  sync.Mutex
	stores map[Kind]cache.SharedIndexInformer
	// stacks are the watches of the Stacks of each kind's orders.
	stacks map[Kind]cache.SharedIndexInformer
	// admitted are the orders that may have a Stack, which the watches may not show yet.
	admitted map[key]types.UID
}

// set sets the watches of a kind's orders and of their Stacks; nil removes them.
func (k *known) set(kind Kind, store, stacks cache.SharedIndexInformer) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.stores == nil {
		k.stores, k.stacks, k.admitted = map[Kind]cache.SharedIndexInformer{}, map[Kind]cache.SharedIndexInformer{}, map[key]types.UID{}
	}
	if k.stores[kind], k.stacks[kind] = store, stacks; store == nil {
		delete(k.stores, kind)
		delete(k.stacks, kind)
	}
}

// complete reports whether the watches of a kind have seen all objects that existed at their start. Before that, too few
// orders are counted.
func (k *known) complete(kind Kind) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	store, stacks := k.stores[kind], k.stacks[kind]
	return store != nil && store.HasSynced() && stacks != nil && stacks.HasSynced()
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

// admit reports whether an order is one of the limit of its team, and then keeps its place. An order that has its place, by
// a Stack or by an earlier call, comes before every order that has none: a younger order could otherwise take a second place
// beside it, because the creation times of orders have only seconds. Among equals the older order comes first, and those of
// the same second in the order of their names.
func (k *known) admit(of key, uid types.UID, created metav1.Time, team string, limit int) bool {
	others := k.in(of.kind, of.namespace)
	k.mutex.Lock()
	defer k.mutex.Unlock()
	placed, before := k.placed(of, uid, team), 0
	for _, other := range others {
		if other.Name == of.name {
			continue
		}
		older := other.CreationTimestamp.Before(&created) || other.CreationTimestamp.Equal(&created) && other.Name < of.name
		if has := k.placed(key{of.kind, of.namespace, other.Name}, other.UID, team); has && !placed || has == placed && older {
			before++
		}
	}
	if before >= limit {
		return false
	}
	k.admitted[of] = uid
	return true
}

// placed reports whether an order has its place. The caller holds the mutex.
func (k *known) placed(of key, uid types.UID, team string) bool {
	if k.admitted[of] == uid {
		return true
	}
	stacks := k.stacks[of.kind]
	if stacks == nil {
		return false
	}
	_, exists, _ := stacks.GetIndexer().GetByKey(of.kind.Namespace() + "/" + names{team, of.name}.stack())
	return exists
}

// forget gives up the place of an order that is gone.
func (k *known) forget(of key, uid types.UID) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.admitted[of] == uid {
		delete(k.admitted, of)
	}
}

// strip removes the fields of an order that no caller reads, because the watches keep all orders in memory, and a team may
// write 256 KiB of annotations into each.
func strip(object any) (any, error) {
	if order, is := object.(*metav1.PartialObjectMetadata); is {
		order.Annotations, order.ManagedFields = nil, nil
	}
	return object, nil
}

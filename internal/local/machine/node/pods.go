package node

import (
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/strata-platform/strata/internal/local/machine/node/service"
	"github.com/strata-platform/strata/internal/local/machine/node/usage"
)

// stopAll stops all pods concurrently. While they stop, they can still reach each other.
func (n *Node) stopAll() {
	n.closing.Store(true)
	n.mu.Lock()
	running := slices.Collect(maps.Values(n.running))
	n.mu.Unlock()
	var group sync.WaitGroup
	for _, p := range running {
		group.Go(p.Stop)
	}
	group.Wait()
}

// watched returns all pods that run on the node.
func (n *Node) watched() []usage.Watched {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]usage.Watched, 0, len(n.running))
	for _, p := range n.running {
		list = append(list, p)
	}
	return list
}

// podsIn returns the pods of a namespace that run on the node.
func (n *Node) podsIn(namespace string) []service.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []service.Pod
	for _, p := range n.running {
		if p.Object().Namespace == namespace {
			list = append(list, p)
		}
	}
	return list
}

// DialService connects to a ready pod of a Service, as a pod of this node would. It finds only pods that run as
// processes.
func (n *Node) DialService(namespace, service string, port int32) (net.Conn, error) {
	return n.services.Dial(namespace, service, port)
}

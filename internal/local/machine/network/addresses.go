package network

import (
	"fmt"
	"net/netip"
)

// Reserve returns a free address of the pods' range. Addresses come back into use as late as possible, so that nothing
// takes a new pod for the pod that had its address before.
func (g *Gateway) Reserve() (netip.Addr, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	pods := g.options.Pods.Masked()
	if !g.lastReserved.IsValid() {
		g.lastReserved = pods.Addr()
	}
	next := g.lastReserved
	for range 1 << (32 - pods.Bits()) {
		if next = next.Next(); !pods.Contains(next) {
			next = pods.Addr().Next() // The first address is the range's own.
		}
		if !g.reserved[next] && next != g.options.Address {
			g.reserved[next], g.lastReserved = true, next
			return next, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("reserve an address: all of %s are in use: delete pods", pods)
}

// Free returns an address from Reserve.
func (g *Gateway) Free(address netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.reserved, address)
}

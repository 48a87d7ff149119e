package services

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxSessions bounds the remembered sessions. A client that changes its address, such as a restarted pod, leaves one
// session behind until it expires.
const maxSessions = 16384

// Balancer picks endpoints, and remembers them for Services with session affinity. Its zero value is ready. Its methods
// may be called concurrently.
type Balancer struct {
	// Now replaces time.Now in tests.
	Now func() time.Time

	mu       sync.Mutex
	sessions map[session]kept
}

type session struct {
	service  types.NamespacedName
	protocol corev1.Protocol
	port     uint16
	client   netip.Addr
}

type kept struct {
	endpoint netip.AddrPort
	expires  time.Time
}

// Order returns the port's endpoints in the order in which a client tries them: the endpoint of its session first, the
// others at random. The caller tells Keep which endpoint answered.
func (b *Balancer) Order(port *Port, client netip.Addr) []Endpoint {
	order := slices.Clone(port.Endpoints)
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	if port.Affinity == 0 {
		return order
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.sessions[sessionOf(port, client)]
	if !ok || b.now().After(s.expires) {
		return order
	}
	if i := slices.IndexFunc(order, func(e Endpoint) bool { return e.Address == s.endpoint }); i > 0 {
		order[0], order[i] = order[i], order[0]
	}
	return order
}

// Keep records the endpoint of a client's session, if the Service has session affinity. Each connection extends the
// session.
func (b *Balancer) Keep(port *Port, client netip.Addr, endpoint Endpoint) {
	if port.Affinity == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.sessions == nil {
		b.sessions = map[session]kept{}
	}
	if len(b.sessions) >= maxSessions {
		b.shrink(now)
	}
	b.sessions[sessionOf(port, client)] = kept{endpoint.Address, now.Add(port.Affinity)}
}

// shrink removes the expired sessions, or an arbitrary one if all are valid.
func (b *Balancer) shrink(now time.Time) {
	for s, k := range b.sessions {
		if now.After(k.expires) {
			delete(b.sessions, s)
		}
	}
	for s := range b.sessions {
		if len(b.sessions) < maxSessions {
			return
		}
		delete(b.sessions, s)
	}
}

func (b *Balancer) now() time.Time {
	if b.Now != nil {
		return b.Now()
	}
	return time.Now()
}

func sessionOf(port *Port, client netip.Addr) session {
	return session{port.Service, port.Protocol, port.Number, client}
}

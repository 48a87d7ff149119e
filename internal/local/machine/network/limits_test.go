package network

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reach waits until a pod reaches an address.
func reach(t *testing.T, try func() error) {
	t.Helper()
	end := time.Now().Add(deadline)
	for err := try(); err != nil; err = try() {
		if time.Now().After(end) {
			t.Fatalf("the last attempt ended with %v", err)
		}
	}
}

func TestTooManyConnectionsOfOnePod(t *testing.T) {
	const limit = 20
	g := open(t, func(o *Options) { o.Limits.Connections = limit })
	greedy, server, modest := attach(t, g, 2), attach(t, g, 3), attach(t, g, 4)
	answer(t, server, 80, "three")
	var held []net.Conn
	for range limit {
		conn, err := greedy.Dial(t.Context(), "tcp", at("10.244.0.3:80"))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	if _, err := ask(t, greedy, at("10.244.0.3:80"), ""); err == nil {
		t.Errorf("the pod opened %d connections", limit+1)
	}
	if got, err := ask(t, modest, at("10.244.0.3:80"), "hello"); err != nil || got != "three 10.244.0.4 hello" {
		t.Errorf("another pod gets %q, %v", got, err)
	}
	for _, conn := range held {
		conn.Close()
	}
	reach(t, func() error {
		_, err := ask(t, greedy, at("10.244.0.3:80"), "")
		return err
	})
}

func TestAHundredThousandConnectionAttempts(t *testing.T) {
	g := open(t, nil)
	greedy, server, modest := attach(t, g, 2), attach(t, g, 3), attach(t, g, 4)
	answer(t, server, 80, "three")
	most := 0
	for n := range 100_000 {
		greedy.Send(syn(ip(2), mac(2), at("10.244.0.3:80"), uint16(n)))
		if n%10_000 == 0 {
			if got, err := ask(t, modest, at("10.244.0.3:80"), "hello"); err != nil || got != "three 10.244.0.4 hello" {
				t.Fatalf("after %d attempts of the first pod the other one gets %q, %v", n, got, err)
			}
			g.mu.RLock()
			most = max(most, len(g.flows))
			g.mu.RUnlock()
		}
	}
	if limit := g.options.Limits.Connections + 1; most > limit {
		t.Errorf("%d connections were open; want at most %d", most, limit)
	}
}

func TestDetachEndsHalfOpenConnections(t *testing.T) {
	g := open(t, nil)
	one := attach(t, g, 2)
	answer(t, attach(t, g, 3), 80, "three")
	// Without its interface the pod never answers the gateway's part of the handshake.
	if err := one.Stack.DisableNIC(1); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		one.Send(syn(ip(2), mac(2), at("10.244.0.3:80"), uint16(40000+n)))
	}
	reach(t, func() error {
		if flows(g) < 20 {
			return io.ErrNoProgress
		}
		return nil
	})
	began := time.Now()
	g.Detach("default", "pod-2")
	if took := time.Since(began); took > deadline || flows(g) > 0 {
		t.Errorf("Detach took %s and left %d connections", took, flows(g))
	}
}

func TestTooManyUDPFlowsEndTheOldest(t *testing.T) {
	const limit = 8
	g := open(t, func(o *Options) { o.Limits.Datagrams = limit })
	one := attach(t, g, 2)
	echoPackets(t, attach(t, g, 3), 53, "three")
	for range 4 * limit {
		if got, err := send(t, one, at("10.244.0.3:53"), "hello"); err != nil || got != "three 10.244.0.2 hello" {
			t.Fatalf("the answer is %q, %v", got, err)
		}
		l := g.linkAt(ip(2))
		l.mu.Lock()
		if n := len(l.datagrams); n > limit {
			t.Errorf("%d flows are open; want at most %d", n, limit)
		}
		l.mu.Unlock()
	}
}

func TestASlowReaderStopsOnlyItsSender(t *testing.T) {
	g := open(t, nil)
	one, two := attach(t, g, 2), attach(t, g, 3)
	answer(t, two, 80, "three")
	l := two.Listen(t, 81)
	conn, err := one.Dial(t.Context(), "tcp", at("10.244.0.3:81"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	// The server does not read, so a write must stop after the buffers of both connections are full.
	const bound = 32 << 20
	chunk, sent := make([]byte, 64<<10), 0
	for sent < bound {
		if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Write(chunk)
		sent += n
		if err != nil {
			break
		}
	}
	if sent >= bound {
		t.Fatalf("the gateway took %d bytes for a server that does not read", sent)
	}
	if _, err := ask(t, one, at("10.244.0.3:80"), ""); err != nil {
		t.Errorf("another connection of the same pods fails: %v", err)
	}
	var reading sync.WaitGroup
	var received int64
	reading.Go(func() { received, _ = io.Copy(io.Discard, server) })
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	reading.Wait()
	if received != int64(sent) {
		t.Errorf("the server received %d bytes of %d", received, sent)
	}
}

func deny(name, pod string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": pod}}}}
}

func TestAPolicyEndsOpenConnections(t *testing.T) {
	g := open(t, nil)
	one, two := attach(t, g, 2), attach(t, g, 3)
	answer(t, two, 80, "three")
	echoPackets(t, two, 53, "three")
	conn, err := one.Dial(t.Context(), "tcp", at("10.244.0.3:80"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := send(t, one, at("10.244.0.3:53"), "hello"); err != nil {
		t.Fatal(err)
	}
	g.Update(State{Policies: []*networkingv1.NetworkPolicy{deny("another", "pod-9")}})
	if n := flows(g); n < 2 {
		t.Errorf("a policy for another pod left %d of 2 flows", n)
	}
	g.Update(State{Policies: []*networkingv1.NetworkPolicy{deny("isolate", "pod-3")}})
	if _, err := io.ReadAll(conn); err == nil {
		t.Error("an open connection ended in order; want a reset")
	}
	reach(t, func() error {
		if flows(g) > 0 {
			return io.ErrNoProgress
		}
		return nil
	})
	if _, err := ask(t, one, at("10.244.0.3:80"), ""); err == nil {
		t.Error("an isolated pod accepts a new connection")
	}
	probe, err := g.Dial(t.Context(), named("pod-3"), 80)
	if err != nil {
		t.Fatalf("a probe of an isolated pod: %v", err)
	}
	probe.Close()
	g.Update(State{})
	if _, err := ask(t, one, at("10.244.0.3:80"), ""); err != nil {
		t.Errorf("after the policy is gone: %v", err)
	}
}

func flows(g *Gateway) int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.flows)
}

func TestAFlowToAnEndpointThatIsGoneEnds(t *testing.T) {
	g := open(t, nil)
	one := attach(t, g, 2)
	echoPackets(t, attach(t, g, 3), 53, "three")
	echoPackets(t, attach(t, g, 4), 53, "four")
	names, endpoints := service("names", "10.96.1.1", 53, 53, corev1.ProtocolUDP, 3)
	g.Update(State{}.with(names, endpoints))
	conn, err := one.Dial(t.Context(), "udp", at("10.96.1.1:53"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	talk := func() (string, error) {
		buffer := make([]byte, 100)
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return "", err
		}
		if _, err := conn.Write([]byte("x")); err != nil {
			return "", err
		}
		n, err := conn.Read(buffer)
		return string(buffer[:n]), err
	}
	if got, err := talk(); err != nil || got != "three 10.244.0.2 x" {
		t.Fatalf("the answer is %q, %v", got, err)
	}
	g.Update(State{}.with(service("names", "10.96.1.1", 53, 53, corev1.ProtocolUDP, 4)))
	reach(t, func() error {
		if got, err := talk(); err != nil || got != "four 10.244.0.2 x" {
			return io.ErrNoProgress
		}
		return nil
	})
}

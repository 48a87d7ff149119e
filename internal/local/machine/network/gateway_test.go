package network

import (
	"context"
	"crypto/sha256"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAPodReaches(t *testing.T) {
	g := open(t, nil)
	one, two := attach(t, g, 1+1), attach(t, g, 3)
	answer(t, one, 80, "two")
	answer(t, two, 80, "three")
	echoPackets(t, one, 53, "two")
	echoPackets(t, two, 53, "three")
	web, webEndpoints := service("web", "10.96.1.1", 8080, 80, corev1.ProtocolTCP, 3)
	self, selfEndpoints := service("self", "10.96.1.2", 80, 80, corev1.ProtocolTCP, 2)
	names, namesEndpoints := service("names", "10.96.1.3", 5353, 53, corev1.ProtocolUDP, 3)
	selfNames, selfNamesEndpoints := service("self-names", "10.96.1.4", 53, 53, corev1.ProtocolUDP, 2)
	g.Update(State{}.with(web, webEndpoints).with(self, selfEndpoints).with(names, namesEndpoints).with(selfNames, selfNamesEndpoints))

	for name, c := range map[string]struct{ network, address, want string }{
		"a pod over TCP, which sees the client's address":      {"tcp", "10.244.0.3:80", "three 10.244.0.2 hello"},
		"a pod over UDP, which sees the client's address":      {"udp", "10.244.0.3:53", "three 10.244.0.2 hello"},
		"a Service over TCP":                                   {"tcp", "10.96.1.1:8080", "three 10.244.0.2 hello"},
		"a Service over UDP":                                   {"udp", "10.96.1.3:5353", "three 10.244.0.2 hello"},
		"itself through a Service, from the gateway's address": {"tcp", "10.96.1.2:80", "two 10.244.0.1 hello"},
		"itself through a UDP Service, from the gateway's":     {"udp", "10.96.1.4:53", "two 10.244.0.1 hello"},
	} {
		t.Run(name, func(t *testing.T) {
			try := ask
			if c.network == "udp" {
				try = send
			}
			if got, err := try(t, one, at(c.address), "hello"); err != nil || got != c.want {
				t.Errorf("the answer is %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestAConnectionIsRejectedAtOnce(t *testing.T) {
	g := open(t, nil)
	one, _ := attach(t, g, 2), attach(t, g, 3)
	empty, none := service("empty", "10.96.1.1", 80, 80, corev1.ProtocolTCP)
	g.Update(State{}.with(empty, none))
	for name, address := range map[string]string{
		"a port without a listener":      "10.244.0.3:81",
		"a pod that does not exist":      "10.244.0.9:80",
		"a Service without endpoints":    "10.96.1.1:80",
		"a port that the Service lacks":  "10.96.1.1:81",
		"an address without a Service":   "10.96.7.7:80",
		"a port of the gateway":          "10.244.0.1:22",
		"another port of the DNS server": "10.96.0.10:80",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ask(t, one, at(address), ""); err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("a connection to %s ended with %v; want a reset", address, err)
			}
		})
	}
}

func TestATransferIsComplete(t *testing.T) {
	g := open(t, nil)
	one, two := attach(t, g, 2), attach(t, g, 3)
	sums := make(chan [32]byte, 1)
	l := two.Listen(t, 80)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		hash := sha256.New()
		_, _ = io.Copy(hash, conn)
		sums <- [32]byte(hash.Sum(nil))
		_, _ = conn.Write([]byte("stored"))
	}()
	data := strings.Repeat("0123456789abcdef", 1<<20)
	got, err := ask(t, one, at("10.244.0.3:80"), data)
	if err != nil || got != "stored" {
		t.Fatalf("the answer after 16 MiB is %q, %v", got, err)
	}
	if <-sums != sha256.Sum256([]byte(data)) {
		t.Error("the pod received other bytes than the client sent")
	}
}

func TestTheHostReachesAPodAndAService(t *testing.T) {
	g := open(t, nil)
	answer(t, attach(t, g, 2), 80, "two")
	web, endpoints := service("web", "10.96.1.1", 8080, 80, corev1.ProtocolTCP, 2)
	g.Update(State{}.with(web, endpoints))
	for name, dial := range map[string]func() (net.Conn, error){
		"a pod":                        func() (net.Conn, error) { return g.Dial(t.Context(), named("pod-2"), 80) },
		"a Service by number":          func() (net.Conn, error) { return g.DialService(t.Context(), named("web"), "8080", netip.Addr{}) },
		"a Service by the port's name": func() (net.Conn, error) { return g.DialService(t.Context(), named("web"), "main", netip.Addr{}) },
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := exchange(conn, "hello"); err != nil || got != "two 10.244.0.1 hello" {
				t.Errorf("the answer is %q, %v", got, err)
			}
		})
	}
	for name, dial := range map[string]func() (net.Conn, error){
		"a port without a listener":  func() (net.Conn, error) { return g.Dial(t.Context(), named("pod-2"), 81) },
		"an unknown pod":             func() (net.Conn, error) { return g.Dial(t.Context(), named("pod-9"), 80) },
		"an unknown port of Service": func() (net.Conn, error) { return g.DialService(t.Context(), named("web"), "9", netip.Addr{}) },
	} {
		if conn, err := dial(); err == nil {
			conn.Close()
			t.Errorf("%s was dialled", name)
		}
	}
}

func TestABackendOfTheHostServes(t *testing.T) {
	g := open(t, nil)
	one := attach(t, g, 2)
	api, apiEndpoints := service("kubernetes", "10.96.0.1", 443, 6443, corev1.ProtocolTCP)
	catalogue, catalogueEndpoints := service("flux", "10.96.1.1", 80, 9090, corev1.ProtocolTCP, 40)
	g.Update(State{}.with(api, apiEndpoints).with(catalogue, catalogueEndpoints))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go serveStreams(l, "host")
	requests := make(chan Request, 1)
	serve := func(ctx context.Context, r Request) (net.Conn, error) {
		requests <- r
		return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
	}
	g.ServeService(named("kubernetes"), serve)
	g.ServePod(named("pod-40"), serve)
	g.ServeAddress(at("169.254.169.254:80"), serve)
	for address, want := range map[string]string{
		"10.96.0.1:443":      "kubernetes main 10.96.0.1:443",
		"10.96.1.1:80":       "flux main 10.244.0.40:9090",
		"169.254.169.254:80": "  169.254.169.254:80",
	} {
		got, err := ask(t, one, at(address), "hello")
		if err != nil || got != "host 127.0.0.1 hello" {
			t.Fatalf("%s answers %q, %v", address, got, err)
		}
		r := <-requests
		if told := r.Service.Name + " " + r.Port + " " + r.Endpoint.String(); told != want || r.Pod.Name != "pod-2" {
			t.Errorf("%s: the backend was told %q and pod %q; want %q", address, told, r.Pod.Name, want)
		}
	}
	g.ServeAddress(at("169.254.169.254:80"), nil)
	if _, err := ask(t, one, at("169.254.169.254:80"), ""); err == nil {
		t.Error("an address answers after its backend is gone")
	}
}

func TestAffinityKeepsAnEndpoint(t *testing.T) {
	g := open(t, nil)
	one := attach(t, g, 2)
	for n := 3; n < 8; n++ {
		answer(t, attach(t, g, n), 80, ip(n).String())
	}
	web, endpoints := service("web", "10.96.1.1", 80, 80, corev1.ProtocolTCP, 3, 4, 5, 6, 7)
	seen := func() map[string]bool {
		found := map[string]bool{}
		for range 40 {
			got, err := ask(t, one, at("10.96.1.1:80"), "")
			if err != nil {
				t.Fatal(err)
			}
			found[strings.Fields(got)[0]] = true
		}
		return found
	}
	g.Update(State{}.with(web, endpoints))
	if n := len(seen()); n < 2 {
		t.Errorf("40 connections reached %d endpoints; want several", n)
	}
	web.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	g.Update(State{}.with(web, endpoints))
	if n := len(seen()); n != 1 {
		t.Errorf("40 connections of a session reached %d endpoints; want 1", n)
	}
}

func TestAListenerLeadsToItsServiceUntilTheGatewayCloses(t *testing.T) {
	g := open(t, nil)
	answer(t, attach(t, g, 2), 80, "two")
	web, endpoints := service("web", "10.96.1.1", 80, 80, corev1.ProtocolTCP, 2)
	g.Update(State{}.with(web, endpoints))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.Accept(l, types.NamespacedName{Namespace: web.Namespace, Name: web.Name}, 80)
	}()
	conn, err := net.DialTimeout("tcp", l.Addr().String(), deadline)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := exchange(conn, "hello"); err != nil || got != "two 10.244.0.1 hello" {
		t.Errorf("the node port answers %q, %v", got, err)
	}
	g.Close()
	<-ended
	if conn, err := net.DialTimeout("tcp", l.Addr().String(), deadline); err == nil {
		conn.Close()
		t.Error("the listener is open after the end of the gateway")
	}
}

func TestDetachEndsConnectionsAndFreesTheAddress(t *testing.T) {
	g := open(t, nil)
	one, two := attach(t, g, 2), attach(t, g, 3)
	l := two.Listen(t, 80)
	conn, err := one.Dial(t.Context(), "tcp", at("10.244.0.3:80"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	g.Detach("default", "pod-3")
	if err := conn.SetReadDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("a connection to a detached pod ended with %v", err)
	}
	if _, err := ask(t, one, at("10.244.0.3:80"), ""); err == nil {
		t.Error("a detached pod accepts connections")
	}
	answer(t, attach(t, g, 3), 80, "again")
	if got, err := ask(t, one, at("10.244.0.3:80"), "x"); err != nil || got != "again 10.244.0.2 x" {
		t.Errorf("the next pod with the address answers %q, %v", got, err)
	}
}

package httpbackend_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/network/httpbackend"
	"github.com/strata-platform/strata/internal/local/machine/network/networktest"
)

var (
	metadata   = netip.MustParseAddrPort("169.254.169.254:80")
	gatewayIP  = netip.MustParseAddr("10.244.0.1")
	gatewayMAC = net.HardwareAddr{2, 0, 0, 0, 0, 1}
)

// names answers each request with the name of the pod that makes it.
var names = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	pod, ok := httpbackend.Pod(r.Context())
	fmt.Fprintf(w, "%s/%s %t", pod.Namespace, pod.Name, ok)
})

func newGateway(t *testing.T) *network.Gateway {
	t.Helper()
	g, err := network.New(network.Options{
		Address: gatewayIP, Pods: netip.MustParsePrefix("10.244.0.0/16"), Services: netip.MustParsePrefix("10.96.0.0/12"), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func attach(t *testing.T, g *network.Gateway, namespace string, n byte) *networktest.Pod {
	t.Helper()
	ip, mac := netip.AddrFrom4([4]byte{10, 244, 0, n}), net.HardwareAddr{2, 0, 0, 0, 1, n}
	pod, link := networktest.New(t, ip, mac, gatewayMAC, network.MTU)
	if err := g.Attach(t.Context(), network.Pod{Namespace: namespace, Name: "pod", IP: ip, MAC: mac}, link); err != nil {
		t.Fatal(err)
	}
	return pod
}

// client returns an HTTP client in a pod.
func client(t *testing.T, pod *networktest.Pod) *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return pod.Dial(ctx, "tcp", metadata) }}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func get(c *http.Client, header http.Header) (string, error) {
	request, err := http.NewRequest(http.MethodGet, "http://metadata.google.internal/", nil)
	if err != nil {
		return "", err
	}
	request.Header = header
	answer, err := c.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return string(data), err
}

func TestEachPodIsKnownByItsLink(t *testing.T) {
	g := newGateway(t)
	server := httpbackend.New(names)
	t.Cleanup(server.Close)
	g.ServeAddress(metadata, server.Backend)
	web, shop := client(t, attach(t, g, "team-web", 2)), client(t, attach(t, g, "team-shop", 3))
	for range 3 { // on one connection
		// A pod cannot claim to be another by anything that it sends.
		claims := http.Header{"X-Forwarded-For": {"10.244.0.3"}, "Forwarded": {"for=10.244.0.3"}}
		if got, err := get(web, claims); err != nil || got != "team-web/pod true" {
			t.Errorf("the pod of team web is %q, %v", got, err)
		}
		if got, err := get(shop, nil); err != nil || got != "team-shop/pod true" {
			t.Errorf("the pod of team shop is %q, %v", got, err)
		}
	}
}

func TestAClientThatEndsItsDirectionGetsTheAnswer(t *testing.T) {
	g := newGateway(t)
	server := httpbackend.New(names)
	t.Cleanup(server.Close)
	g.ServeAddress(metadata, server.Backend)
	conn, err := attach(t, g, "team-web", 2).Dial(t.Context(), "tcp", metadata)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(answer), "team-web/pod true") {
		t.Errorf("the answer is %q, %v", answer, err)
	}
}

func TestAConnectionFromTheHostIsNoPod(t *testing.T) {
	server := httpbackend.New(names)
	t.Cleanup(server.Close)
	conn, err := server.Backend(t.Context(), network.Request{Address: metadata})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: metadata\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "/ false" {
		t.Errorf("the handler sees %q, %v", body, err)
	}
}

func TestAConnectionEndsWithItsContextAndWithTheServer(t *testing.T) {
	server := httpbackend.New(names)
	ctx, cancel := context.WithCancel(t.Context())
	first, err := server.Backend(ctx, network.Request{Address: metadata})
	if err != nil {
		t.Fatal(err)
	}
	second, err := server.Backend(t.Context(), network.Request{Address: metadata})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the end of its context, a connection reads %v", err)
	}
	server.Close()
	server.Close()
	if _, err := second.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the end of the server, a connection reads %v", err)
	}
	if _, err := server.Backend(t.Context(), network.Request{Address: metadata}); err == nil {
		t.Error("a closed server accepts a connection")
	}
}

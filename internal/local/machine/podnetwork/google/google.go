// Package google serves the emulated Google Cloud to pods, under the names and at the kind of addresses that Google Cloud
// itself has in a private network.
package google

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/network"
)

// Address is the address with which DNS answers for the emulated hosts of Google: one of private.googleapis.com (Google
// Cloud, "Configure Private Google Access"). It is public, so the NetworkPolicies that allow Google's APIs on Google Cloud
// allow the emulated ones, too.
var Address = netip.MustParseAddr("199.36.153.8")

// Instances is the range in which pods see the Cloud SQL instances: 240.a.b.c is the instance with the loopback address
// 127.a.b.c. A pod's own loopback hides the latter. No network uses this range (RFC 1112, section 4), and it is not
// private, so policies treat it like an instance's public address.
var Instances = netip.MustParsePrefix("240.0.0.0/8")

// ports are the ports of a Cloud SQL instance: MySQL, and the one for Google's connectors.
var ports = []uint16{3306, 3307}

const headerTimeout = 10 * time.Second

// Cloud is the emulated Google Cloud. All fields are required.
type Cloud struct {
	// Hosts are the names of the emulated hosts, such as sqladmin.googleapis.com.
	Hosts []string
	// Handler serves their calls.
	Handler http.Handler
	// Instances returns the loopback addresses of the Cloud SQL instances that run.
	Instances func() []netip.Addr
}

// Names returns the records of the DNS server.
func (c *Cloud) Names() map[string]netip.Addr {
	names := map[string]netip.Addr{}
	for _, host := range c.Hosts {
		names[host+"."] = Address
	}
	return names
}

// Serve serves the emulated Google Cloud at a gateway until ctx ends: the API over HTTP, and the ports of the Cloud SQL
// instances. It returns at once; wait returns when ctx has ended and nothing is served any more.
func (c *Cloud) Serve(ctx context.Context, g *network.Gateway) (wait func()) {
	calls := &listener{conns: make(chan net.Conn), closed: ctx.Done()}
	server := &http.Server{Handler: seenFromPods(c.Handler), ReadHeaderTimeout: headerTimeout}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(calls) }) // It returns only the error of the end.
	g.ServeAddress(netip.AddrPortFrom(Address, 80), calls.dial)
	for _, port := range ports {
		g.ServeRange(Instances, port, c.dialInstance)
	}
	return func() {
		<-ctx.Done()
		server.Close()
		running.Wait()
	}
}

// dialInstance connects to a Cloud SQL instance. Other loopback addresses stay closed.
func (c *Cloud) dialInstance(ctx context.Context, r network.Request) (net.Conn, error) {
	four := r.Address.Addr().As4()
	four[0] = 127
	own := netip.AddrFrom4(four)
	if r.Network != "tcp" || !slices.Contains(c.Instances(), own) {
		return nil, &network.Rejected{Address: r.Address, Reason: "no Cloud SQL instance has this address"}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", netip.AddrPortFrom(own, r.Address.Port()).String())
	if err != nil {
		return nil, fmt.Errorf("connect to the Cloud SQL instance at %s: %w", own, err)
	}
	return conn, nil
}

// loopback matches the address of a Cloud SQL instance in an answer of the emulator.
var loopback = regexp.MustCompile(`("ipAddress":\s*")127\.`)

// seenFromPods returns a handler whose answers about Cloud SQL instances contain the addresses that pods reach.
func seenFromPods(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			http.Error(w, "pods need no tunnel", http.StatusMethodNotAllowed)
			return
		}
		if !instances.MatchString(r.URL.Path) {
			h.ServeHTTP(w, r)
			return
		}
		answer := &recorder{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(answer, r)
		body := loopback.ReplaceAll(answer.body, []byte("${1}240."))
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(answer.status)
		_, _ = w.Write(body)
	})
}

// instances matches the calls whose answers describe instances.
var instances = regexp.MustCompile(`/sql/v1(beta4)?/projects/[^/]+/instances(/|$)`)

// recorder keeps an answer. Answers about instances are short.
type recorder struct {
	http.ResponseWriter
	status int
	body   []byte
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	r.body = append(r.body, p...)
	return len(p), nil
}

// listener accepts the connections of pods.
type listener struct {
	conns  chan net.Conn
	closed <-chan struct{}
}

// dial is a network.Backend.
func (l *listener) dial(ctx context.Context, _ network.Request) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
	case <-ctx.Done():
	}
	client.Close()
	server.Close()
	return nil, errors.New("the emulated Google Cloud has stopped")
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (*listener) Close() error { return nil }

// Addr implements net.Listener.
func (*listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(netip.AddrPortFrom(Address, 80)) }

package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// headerTimeout bounds the wait for the header of a request, and idleTimeout the idle time of a connection.
	headerTimeout, idleTimeout = 10 * time.Second, 2 * time.Minute
	// maxIdle bounds the idle connections to one Service.
	maxIdle = 32
)

// router serves HTTP and HTTPS.
type router struct {
	options     Options
	table       atomic.Pointer[table]
	certificate func(types.NamespacedName) (cert, key []byte, err error)
	// page returns the backend of a Service's page, or nil if the Service has none.
	page func(types.NamespacedName) *backend
	// isNamespace reports whether a namespace exists.
	isNamespace func(name string) bool
	proxy       *httputil.ReverseProxy
	transport   *http.Transport
}

// backendKey is the key of a request's backend in its context.
type backendKey struct{}

// newRouter returns a router without any rule. It proxies with the Host header of the client, because backends choose a site by it.
func newRouter(o Options, certificate func(types.NamespacedName) (cert, key []byte, err error), page func(types.NamespacedName) *backend,
	isNamespace func(name string) bool,
) *router {
	r := &router{options: o, certificate: certificate, page: page, isNamespace: isNamespace}
	r.table.Store(newTable(nil))
	r.transport = &http.Transport{DialContext: r.dial, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTimeout,
		// A body passes through as it is.
		DisableCompression: true}
	r.proxy = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			b := p.In.Context().Value(backendKey{}).(*backend)
			p.Out.URL.Scheme = "http"
			p.Out.URL.Host = b.pool()
			p.Out.Host = p.In.Host
			p.SetXForwarded()
		},
		Transport: r.transport,
		// Server-sent events pass at once.
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, in *http.Request, err error) {
			b := in.Context().Value(backendKey{}).(*backend)
			http.Error(w, fmt.Sprintf("Service %s, port %s, does not answer: %v", b.service, b.port, err), http.StatusBadGateway)
		},
	}
	return r
}

// ServeHTTP implements http.Handler.
func (r *router) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	var b *backend
	if service, ok := pageOf(in.Host); ok {
		b = r.page(service)
	}
	if b == nil {
		b = r.table.Load().find(in.Host, in.URL.Path, r.owner(in.Host))
	}
	if b == nil {
		http.Error(w, fmt.Sprintf("no Ingress has a rule for host %q and path %q", in.Host, in.URL.Path), http.StatusNotFound)
		return
	}
	r.proxy.ServeHTTP(w, in.WithContext(context.WithValue(in.Context(), backendKey{}, b)))
}

// owner returns the only namespace whose Ingresses may serve a host, or "" if all may.
func (r *router) owner(host string) string {
	if name := namespaceOf(host); r.isNamespace(name) {
		return name
	}
	return ""
}

// pagePool marks the pools of connections that serve pages.
const pagePool = "page"

// pool returns the name of the pool of connections to a backend. The names of ports, Services and namespaces contain no dots.
func (b *backend) pool() string {
	parts := []string{b.port, b.service.Name, b.service.Namespace}
	if b.page {
		parts = append(parts, pagePool)
	}
	return strings.Join(parts, ".")
}

// dial connects to the Service that a pool's name contains. The connection outlives the request, which only lends it.
func (r *router) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(host, ".")
	if len(parts) < 3 {
		return nil, fmt.Errorf("%q names no Service", host)
	}
	// For NetworkPolicies the client is this machine's browser. The node itself serves pages, like `kubectl port-forward`, and no
	// policy applies to it.
	from := netip.MustParseAddrPort(r.options.Listener.Addr().String()).Addr()
	if len(parts) == 4 && parts[3] == pagePool {
		from = netip.Addr{}
	}
	return r.options.Dial(context.WithoutCancel(ctx), types.NamespacedName{Namespace: parts[2], Name: parts[1]}, parts[0], from)
}

// getCertificate returns the certificate of a host from its Secret.
func (r *router) getCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	t := r.table.Load()
	for _, name := range names(hello.ServerName) {
		secret, ok := t.certificates[name]
		if !ok {
			continue
		}
		cert, key, err := r.certificate(secret)
		if err != nil {
			return nil, fmt.Errorf("host %q: %w", hello.ServerName, err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("host %q: the certificate in Secret %s: %w", hello.ServerName, secret, err)
		}
		return &pair, nil
	}
	return nil, fmt.Errorf("no Ingress has a certificate for host %q", hello.ServerName)
}

// serve serves requests until ctx ends or the caller calls stop, which closes all connections.
func (r *router) serve(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	split := newSplit(r.options.Listener.Addr())
	errorLog := slog.NewLogLogger(r.options.Log.Handler(), slog.LevelDebug)
	server := &http.Server{Handler: r, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: errorLog,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	secure := &http.Server{Handler: r, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: errorLog,
		BaseContext: func(net.Listener) context.Context { return ctx },
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: r.getCertificate}}
	failed := func(err error) { r.options.Log.Error("accept a connection for Ingresses", "error", err) }
	divided := make(chan struct{})
	go func() {
		defer close(divided)
		split.run(ctx, r.options.Listener, failed)
	}()
	done := make(chan error, 2)
	go func() { done <- server.Serve(split.plain) }()
	go func() { done <- secure.ServeTLS(split.secure, "", "") }()
	return func() {
		cancel()
		<-divided
		server.Close()
		secure.Close()
		for range cap(done) {
			if err := <-done; err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				r.options.Log.Error("serve Ingresses", "error", err)
			}
		}
		r.transport.CloseIdleConnections()
	}
}

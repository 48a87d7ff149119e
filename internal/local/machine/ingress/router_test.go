package ingress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"
)

// pages returns the pages of some Services.
func pages(t *testing.T, services ...string) func(types.NamespacedName) *backend {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, text := range services {
		var s corev1.Service
		if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if err := indexer.Add(&s); err != nil {
			t.Fatal(err)
		}
	}
	lister := corev1listers.NewServiceLister(indexer)
	return func(name types.NamespacedName) *backend { return page(lister, name) }
}

// startRouter starts a router in front of one Service, shop/web, and returns its address, and the clients of its connections to
// the Service.
func startRouter(t *testing.T, service http.Handler) (address string, clients chan netip.Addr) {
	t.Helper()
	clients = make(chan netip.Addr, 10)
	backend := httptest.NewServer(service)
	t.Cleanup(backend.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := newRouter(Options{Listener: l, Log: slog.New(slog.DiscardHandler),
		Dial: func(ctx context.Context, service types.NamespacedName, port string, from netip.Addr) (net.Conn, error) {
			if service.String() != "shop/web" || port != "http" {
				return nil, fmt.Errorf("no Service %s has a port %s", service, port)
			}
			clients <- from
			return new(net.Dialer).DialContext(ctx, "tcp", backend.Listener.Addr().String())
		}}, nil, pages(t,
		`{metadata: {namespace: shop, name: web, annotations: {strata.dev/page: http}}, spec: {ports: [{name: http, port: 80}]}}`,
		`{metadata: {namespace: shop, name: gone, annotations: {strata.dev/page: "81"}}, spec: {ports: [{port: 81}]}}`,
		`{metadata: {namespace: shop, name: database}, spec: {ports: [{name: http, port: 80}]}}`,
		`{metadata: {namespace: shop, name: wrong, annotations: {strata.dev/page: http}}, spec: {ports: [{name: http, port: 80, protocol: UDP}]}}`), func(name string) bool { return name == "shop" || name == "thief" })
	r.table.Store(newTable([]*networkingv1.Ingress{parse(t, 1, `{metadata: {namespace: shop, name: web}, spec: {rules: [{host: shop.localhost, http: {paths: [
		{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}},
		{path: /gone, pathType: Prefix, backend: {service: {name: gone, port: {name: http}}}}]}}]}}`),
		// Another team claims the hosts of pages.
		parse(t, 2, `{metadata: {namespace: thief, name: web}, spec: {rules: [{host: web.shop.localhost, http: &thief {paths: [
			{path: /, pathType: Prefix, backend: {service: {name: thief, port: {name: http}}}}]}}, {host: "*.shop.localhost", http: *thief},
			{host: "shop.localhost", http: {paths: [{path: /cookies, pathType: Exact, backend: {service: {name: thief, port: {name: http}}}}]}},
			{host: free.localhost, http: *thief}], defaultBackend: {service: {name: thief, port: {name: http}}}}}`)}))
	ctx, cancel := context.WithCancel(context.Background())
	stop := r.serve(ctx)
	t.Cleanup(func() {
		cancel()
		stop()
	})
	return l.Addr().String(), clients
}

func TestTheRouterPassesRequestsOn(t *testing.T) {
	address, _ := startRouter(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Host, r.URL, r.Header.Get("X-Forwarded-For"))
	}))
	for name, c := range map[string]struct {
		host, path string
		status     int
		want       string
	}{
		"a request keeps its host, its path and its query":  {"shop.localhost", "/a%2Fb?c=d", 200, "shop.localhost /a%2Fb?c=d 127.0.0.1"},
		"a Service that does not answer is a bad gateway":   {"shop.localhost", "/gone", 502, "Service shop/gone, port http, does not answer"},
		"a Service's page has the Service's host":           {"web.shop.localhost:8080", "/a", 200, "web.shop.localhost:8080 /a 127.0.0.1"},
		"a page that does not answer is a bad gateway":      {"gone.shop.localhost", "/", 502, "Service shop/gone, port 81, does not answer"},
		"a Service without a page is not served":            {"database.shop.localhost", "/", 404, "no Ingress has a rule"},
		"a page needs a TCP port":                           {"wrong.shop.localhost", "/", 404, "no Ingress has a rule"},
		"a page has no names below it":                      {"a.web.shop.localhost", "/", 404, "no Ingress has a rule"},
		"no team gets the host of a page that is not there": {"later.shop.localhost:80", "/", 404, `no Ingress has a rule for host "later.shop.localhost:80"`},
		"no team gets the domain of another's pages":        {"SHOP.localhost.", "/cookies", 200, "SHOP.localhost. /cookies 127.0.0.1"},
		"a team gets the hosts below its own namespace":     {"x.thief.localhost", "/", 502, "Service thief/thief, port http, does not answer"},
		"any team gets a host that is no namespace's":       {"free.localhost", "/", 502, "Service thief/thief, port http, does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = c.host
			request.Header.Set("X-Forwarded-For", "192.0.2.1") // A client cannot pretend to be another.
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != c.status || !strings.HasPrefix(string(text), c.want) {
				t.Errorf("the answer is %d %q, %v; want %d %q", response.StatusCode, text, err, c.status, c.want)
			}
		})
	}
}

func TestPoliciesApplyToIngressesAndNotToPages(t *testing.T) {
	address, clients := startRouter(t, http.NotFoundHandler())
	for _, c := range []struct{ host, want string }{{"shop.localhost", "127.0.0.1"}, {"web.shop.localhost", "invalid IP"}, {"shop.localhost", ""}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = c.host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body) // The connection may serve the next request.
		response.Body.Close()
		got := ""
		select {
		case client := <-clients:
			got = client.String()
		default: // An earlier connection has served it.
		}
		if got != c.want {
			t.Errorf("for %s the client is %q, want %q", c.host, got, c.want)
		}
	}
}

func TestTheRouterPassesUpgradesOn(t *testing.T) {
	address, _ := startRouter(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := buffered.ReadString('\n')
		fmt.Fprint(conn, "echo "+line)
	}))
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	if err == nil {
		defer response.Body.Close()
	}
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the answer is %v, %v", response, err)
	}
	fmt.Fprint(conn, "hello\n")
	if line, err := r.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("the Service answers %q, %v", line, err)
	}
}

func TestTheRouterEndsWithAClientThatSaysNothing(t *testing.T) {
	address, _ := startRouter(t, http.NotFoundHandler())
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) // The router's own clean-up comes before, and must not wait for this client.
}

func TestConnectionsThatHaveEndedTakeNoPlace(t *testing.T) {
	address, _ := startRouter(t, http.NotFoundHandler())
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for i := range maxConnections + 1 {
		// Half of them break off their TLS handshake.
		if i%2 == 0 {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte{handshake})
			conn.Close()
			continue
		}
		response, err := client.Get("http://" + address)
		if err != nil {
			t.Fatalf("request %d: %v", i+1, err)
		}
		response.Body.Close()
	}
	response, err := client.Get("http://" + address)
	if err != nil {
		t.Fatalf("after %d connections: %v", maxConnections+1, err)
	}
	response.Body.Close()
}

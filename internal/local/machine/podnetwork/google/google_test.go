package google

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/network/networktest"
)

// pod returns a pod at a gateway that serves an emulated Google Cloud, with one running instance.
func pod(t *testing.T) *networktest.Pod {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, r.Host+r.URL.Path+` {"ipAddress": "127.63.28.247", "name": "127.0.0.1"}`)
	})
	cloud := &Cloud{Hosts: []string{"sqladmin.googleapis.com"}, Handler: handler,
		TLS: &tls.Config{}, Metadata: func(accounts Accounts) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				account, google, err := accounts(r.Context(), network.Pod{Namespace: "namespace", Name: "pod"})
				fmt.Fprint(w, account, google, err)
			})
		},
		Instances: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.63.28.247")} }}
	gatewayIP, podIP := netip.MustParseAddr("10.128.0.1"), netip.MustParseAddr("10.128.0.2")
	gatewayMAC, podMAC := net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 2}
	g, err := network.New(network.Options{Address: gatewayIP, Pods: netip.MustParsePrefix("10.128.0.0/16"), Services: netip.MustParsePrefix("10.96.0.0/16"),
		DNS: netip.MustParseAddr("10.96.0.10"), Names: cloud.Names(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	wait := cloud.Serve(ctx, g, func(_ context.Context, p network.Pod) (string, string, error) {
		return p.Namespace + "/" + p.Name, "@google", nil
	})
	t.Cleanup(func() {
		cancel()
		g.Close()
		wait()
	})
	p, endpoint := networktest.New(t, podIP, podMAC, gatewayMAC, network.MTU)
	if err := g.Attach(t.Context(), network.Pod{Namespace: "default", Name: "pod", IP: podIP, MAC: podMAC}, endpoint); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPodsReachTheHostsAndTheMetadataServer(t *testing.T) {
	p := pod(t)
	for name, c := range map[string]struct{ url, want string }{
		"a host":              {"http://199.36.153.8/sql", `199.36.153.8/sql {"ipAddress": "127.63.28.247", "name": "127.0.0.1"}`},
		"the metadata server": {"http://169.254.169.254/", "namespace/pod@google<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return p.Dial(ctx, network, netip.MustParseAddrPort(address))
			}}}
			defer client.CloseIdleConnections()
			response, err := client.Get(c.url)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil || string(text) != c.want {
				t.Errorf("the answer is %s %q, %v; want %q", response.Status, text, err, c.want)
			}
		})
	}
}

func TestPodsSeeInstancesInARangeOfTheirOwn(t *testing.T) {
	for address, want := range map[string]string{"127.63.28.247": "240.63.28.247", "no address": "no address", "::1": "::1"} {
		if got := Seen(address); got != want {
			t.Errorf("pods see %s as %s, want %s", address, got, want)
		}
	}
}

func TestPodsReachInstancesAndNoOtherLoopbackAddress(t *testing.T) {
	p := pod(t)
	for _, address := range []string{"127.63.28.247:3306", "127.0.0.1:3306", "127.63.28.247:3307"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Skipf("this machine has no address %s: %v", address, err)
		}
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, address)
				conn.Close()
			}
		}()
	}
	for name, c := range map[string]struct{ address, want string }{
		"the server":                       {"240.63.28.247:3306", "127.63.28.247:3306"},
		"the port for connectors":          {"240.63.28.247:3307", "127.63.28.247:3307"},
		"not an address without instance":  {"240.0.0.1:3306", ""},
		"not another port of the instance": {"240.63.28.247:22", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []byte
			conn, err := p.Dial(t.Context(), "tcp", netip.MustParseAddrPort(c.address))
			if err == nil {
				got, _ = io.ReadAll(conn)
				conn.Close()
			}
			if string(got) != c.want {
				t.Errorf("%s is %q, %v; want %q", c.address, got, err, c.want)
			}
		})
	}
}

func TestNamesAreThoseOfTheEmulatedHosts(t *testing.T) {
	names := (&Cloud{Hosts: []string{"a.googleapis.com"}}).Names()
	if len(names) != 2 || names["metadata.google.internal."] != metadataServer || names["a.googleapis.com."] != Address || !strings.HasPrefix(Address.String(), "199.36.153.") {
		t.Errorf("the names are %v", names)
	}
}

package cloud_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/api/option"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/metadata"
	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/network/httpbackend"
	"github.com/strata-platform/strata/internal/local/machine/network/networktest"
)

var (
	metadataAddress = netip.MustParseAddrPort("169.254.169.254:80")
	// googleAddress stands for the addresses of Google's hosts, and sqlAddress for that of the instance, in pods.
	googleAddress = netip.MustParseAddrPort("199.36.153.8:443")
	sqlAddress    = netip.MustParseAddrPort("198.18.0.1:3307")
)

// pod attaches the pod team-web/wordpress to a new network that leads to the emulator's hosts, to the metadata server and to
// the instance. The pod has a Google account.
func (c *emulator) pod(t *testing.T, googleAccount, instance string) *networktest.Pod {
	t.Helper()
	gateway := netip.MustParseAddr("10.244.0.1")
	g, err := network.New(network.Options{
		Address: gateway, Pods: netip.MustParsePrefix("10.244.0.0/16"), Services: netip.MustParsePrefix("10.96.0.0/12"), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	meta := httpbackend.New(metadata.New(metadata.Options{Cloud: c.Workloads(projectID), Workload: func(ctx context.Context) (metadata.Workload, bool, error) {
		pod, ok := httpbackend.Pod(ctx)
		if pod.Name != "wordpress" {
			t.Errorf("the metadata server looks for pod %s/%s", pod.Namespace, pod.Name)
		}
		return metadata.Workload{Namespace: pod.Namespace, Account: "web", GoogleAccount: googleAccount}, ok, nil
	}}))
	google := httpbackend.NewTLS(c.ForPods(func(string) string { return sqlAddress.Addr().String() }), c.TLSConfig())
	t.Cleanup(func() {
		g.Close()
		meta.Close()
		google.Close()
	})
	g.ServeAddress(metadataAddress, meta.Backend)
	g.ServeAddress(googleAddress, google.Backend)
	g.ServeAddress(sqlAddress, func(ctx context.Context, _ network.Request) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(instance, "3307"))
	})
	ip, mac := netip.MustParseAddr("10.244.0.2"), net.HardwareAddr{2, 0, 0, 0, 1, 2}
	pod, link := networktest.New(t, ip, mac, net.HardwareAddr{2, 0, 0, 0, 0, 1}, network.MTU)
	if err := g.Attach(t.Context(), network.Pod{Namespace: "team-web", Name: "wordpress", IP: ip, MAC: mac}, link); err != nil {
		t.Fatal(err)
	}
	return pod
}

// TestAPodReachesItsDatabase goes the way of the Auth Proxy in a pod: a token of the metadata server, a call to Google's own
// host, and a connection to the instance.
func TestAPodReachesItsDatabase(t *testing.T) {
	c := newEmulator(t, true)
	c.newPool()
	_, address := c.newWebDatabase(&sqladmin.Settings{})
	email := c.impersonated("team-web", []string{kubernetesWeb}, "roles/cloudsql.client")
	pod := c.pod(t, email, address)
	dial := func(to netip.AddrPort) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, _, _ string) (net.Conn, error) { return pod.Dial(ctx, "tcp", to) }
	}
	meta := &http.Transport{DialContext: dial(metadataAddress)}
	t.Cleanup(meta.CloseIdleConnections)
	m := &metadataServer{t: t, host: "metadata.google.internal", client: &http.Client{Transport: meta, Timeout: time.Minute}}

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.Authority())
	google := &http.Transport{DialContext: dial(googleAddress), TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(google.CloseIdleConnections)
	if !slices.Contains(c.Hosts(), "sqladmin.googleapis.com") {
		t.Errorf("the hosts are %q", c.Hosts())
	}
	service, err := sqladmin.NewService(t.Context(), option.WithHTTPClient(&http.Client{Transport: &oauth2.Transport{
		Base: google, Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: m.token()}),
	}}))
	if err != nil {
		t.Fatal(err)
	}
	settings, err := service.Connect.Get(projectID, "strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	if got := settings.IpAddresses[0].IpAddress; got != sqlAddress.Addr().String() {
		t.Errorf("in a pod the instance is at %s", got)
	}
	k := newConnector(t)
	certificate, err := k.request(&clients{sql: service}, projectID, "strata", sqladmin.GenerateEphemeralCertRequest{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pod.Dial(t.Context(), "tcp", sqlAddress)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM([]byte(settings.ServerCaCert.Cert))
	block, _ := pem.Decode([]byte(certificate.Cert))
	secure := tls.Client(conn, &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: k.key}},
		// The connector compares the common name itself.
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks the chain
		VerifyConnection: func(state tls.ConnectionState) error {
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: authority})
			return err
		},
	})
	// MySQL's greeting begins with its length, a sequence number of 0 and the version 10 of the protocol.
	greeting := make([]byte, 5)
	if _, err := io.ReadFull(secure, greeting); err != nil || greeting[3] != 0 || greeting[4] != 10 {
		t.Errorf("the instance answers %v, %v", greeting, err)
	}
}

package cloud_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/cloud"
)

// certificates returns a folder with the certificate of the emulator's authority.
func (c *emulator) certificates() string {
	c.t.Helper()
	dir := c.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "authority.pem"), c.Authority(), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return dir
}

// throughTunnel returns a client that uses tunnels, and so reaches the emulator under the names of Google's hosts.
func (c *emulator) throughTunnel() *http.Client {
	c.t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.Authority())
	proxy, err := url.Parse(cloud.TunnelVariables(c.url, "")["HTTPS_PROXY"])
	if err != nil {
		c.t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool}}
	c.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestTunnelsToGoogleEndAtTheEmulator(t *testing.T) {
	c := newEmulator(t, false)
	_, key := c.account("reader-account", "roles/viewer")
	token := c.token(key)
	authority := c.Authority()
	c.restart(false)
	if !slices.Equal(authority, c.Authority()) {
		t.Error("the authority changed with the restart")
	}
	client := c.throughTunnel()
	for address, want := range map[string]int{
		"https://storage.googleapis.com/storage/v1/b?project=strata-local":                                             200,
		"https://cloudresourcemanager.googleapis.com/v1/projects/strata-local":                                         200,
		"https://sqladmin.googleapis.com/sql/v1beta4/projects/strata-local/instances":                                  200,
		"https://container.googleapis.com/v1/projects/strata-local/locations/-/clusters":                               200,
		"https://storage.googleapis.com/none/none":                                                                     404,
		"https://oauth2.googleapis.com/token":                                                                          405,
		"https://compute.googleapis.com/compute/v1/projects/strata-local/zones/europe-west1-b/instanceGroupManagers/x": 404,
		"https://dns.googleapis.com/dns/v1/projects/strata-local":                                                      0,
		"https://storage.googleapis.com:8443/storage/v1/b?project=strata-local":                                        0,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(request)
		if want == 0 {
			if err == nil || !strings.Contains(err.Error(), "Forbidden") {
				t.Errorf("%s: %v; want no tunnel", address, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", address, answer.Status, want)
		}
	}
}

// TestOtherTunnelsAreRejected requests tunnels to servers on this machine and to other hosts, without a login, like a
// program that tries to bypass its sandbox.
func TestOtherTunnelsAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	reached := make(chan string, 100)
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.String() }))
	defer other.Close()
	listens := other.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(listens)
	for _, address := range []string{
		listens, "localhost:" + port, "[::1]:" + port, "0.0.0.0:" + port, "2130706433:" + port, "127.1:" + port,
		"example.com:443", "example.com", "googleapis.com:443", "storage.googleapis.com.example.com:443", "storage.googleapis.com@" + listens,
		"storage.googleapis.com:" + port, "storage.googleapis.com:443:" + port, "STORAGE.googleapis.com:80", ":443", "169.254.169.254:80", "",
		"storage.googleapis.com:443\t" + listens, c.url[len("http://"):],
	} {
		if answer := c.connect(address); strings.Contains(answer, " 200 ") {
			t.Errorf("a tunnel to %q: %s", address, answer)
		}
	}
	select {
	case path := <-reached:
		t.Errorf("a tunnel has reached another server: %s", path)
	default:
	}
}

// connect requests a tunnel, without a login, and returns the first line of the response.
func (c *emulator) connect(address string) string {
	c.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		c.t.Fatal(err)
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line
}

// TestTunnelInATunnelIsRejected checks that a client cannot stack tunnels.
func TestTunnelInATunnelIsRejected(t *testing.T) {
	c := newEmulator(t, false)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodConnect, "https://storage.googleapis.com:443", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.throughTunnel().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("a tunnel in a tunnel: %s", answer.Status)
	}
}

// TestTheAuthorityIsForGoogleOnly checks that certificates of the authority are invalid for other names.
func TestTheAuthorityIsForGoogleOnly(t *testing.T) {
	c := newEmulator(t, false)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.Authority())
	leaf := c.CertificateFor(t, "storage.googleapis.com", "example.com")
	for name, trusted := range map[string]bool{"storage.googleapis.com": false, "example.com": false} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool}); (err == nil) != trusted {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.CertificateFor(t, "storage.googleapis.com").Verify(x509.VerifyOptions{DNSName: "storage.googleapis.com", Roots: pool}); err != nil {
		t.Error(err)
	}
}

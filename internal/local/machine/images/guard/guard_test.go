package guard_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/guard"
	"github.com/strata-platform/strata/internal/local/machine/network/outside"
)

func TestAPullForAPodDoesNotReachThisMachine(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	home, err := images.Open(t.TempDir(), images.Options{Registry: images.Host, Transport: guard.Transport(outside.Rules{})})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1:" + port, "localhost:" + port, "127.9.9.9:" + port, "169.254.169.254", "10.0.0.1:5000", "0.0.0.0:" + port} {
		_, err := home.For("team-web").Pull(t.Context(), host+"/app:v1", nil, nil)
		if fault.Of(err) != fault.Denied || !strings.Contains(err.Error(), "pods may not pull from this address") || strings.Contains(err.Error(), "\n") {
			t.Errorf("a pull from %s: %v", host, err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server on this machine received %d requests", n)
	}
}

func TestARedirectDoesNotReachThisMachine(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	first := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "registry.example.com" {
				return next.RoundTrip(r)
			}
			answer := httptest.NewRecorder()
			http.Redirect(answer, r, server.URL+"/secret", http.StatusFound)
			return answer.Result(), nil
		})
	}
	client := http.Client{Transport: first(guard.Transport(outside.Rules{}))}
	answer, err := client.Get("http://registry.example.com/v2/")
	if err == nil {
		answer.Body.Close()
	}
	if fault.Of(err) != fault.Denied || asked.Load() != 0 {
		t.Errorf("after a redirect the error is %v, and the server received %d requests", err, asked.Load())
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

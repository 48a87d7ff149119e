package core

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// guardedTransport rejects calls to hosts other than those of the endpoints, because credentials and responses may
// contain any URL.
type guardedTransport struct {
	hosts        []string
	quotaProject string // empty means the project of the credentials
	reason       string // for Google's audit log; may be empty
	next         http.RoundTripper
	// tunnel leads to Google's hosts for tokens of the emulated Google Cloud; nil means that there is none.
	tunnel *url.URL
}

// tokenHosts are the hosts that exchange tokens for clients without a key. The official provider has no endpoints for them.
var tokenHosts = []string{"sts.googleapis.com", "iamcredentials.googleapis.com"}

// newTransport returns the transport for the hosts of the endpoints. It reaches the hosts for tokens by the proxy in HTTPS_PROXY, as other
// clients do, if that is one of the hosts.
func newTransport(hosts []string, quotaProject, reason string) *guardedTransport {
	t := &guardedTransport{hosts: hosts, quotaProject: quotaProject, reason: reason}
	if proxy, err := url.Parse(os.Getenv("HTTPS_PROXY")); err == nil && slices.Contains(hosts, proxy.Host) {
		t.tunnel = proxy
	}
	t.next = &http.Transport{ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, Proxy: func(r *http.Request) (*url.URL, error) {
		if t.exchanges(r) {
			return t.tunnel, nil
		}
		return nil, nil
	}}
	return t
}

// exchanges reports whether a request is for a token, and reaches the emulated Google Cloud.
func (t *guardedTransport) exchanges(r *http.Request) bool {
	return t.tunnel != nil && r.URL.Scheme == "https" && slices.Contains(tokenHosts, r.URL.Host)
}

// RoundTrip implements http.RoundTripper.
func (t *guardedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.exchanges(r) {
		return t.next.RoundTrip(r)
	}
	if !slices.Contains(t.hosts, r.URL.Host) {
		return nil, fmt.Errorf("call to %s rejected: the local gcp plugin calls only the emulated Google Cloud at %s",
			r.URL.Host, strings.Join(t.hosts, ", "))
	}
	headers := map[string]string{"X-Goog-User-Project": t.quotaProject, "X-Goog-Request-Reason": t.reason}
	r = r.Clone(r.Context())
	for name, value := range headers {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return t.next.RoundTrip(r)
}

// versionPath matches the version at the end of an endpoint, which Google's clients add themselves.
var versionPath = regexp.MustCompile(`/(sql/|storage/)?(v[0-9][^/]*|beta)/?$`)

// root returns an endpoint without its version.
func root(endpoint string) string {
	return strings.TrimSuffix(versionPath.ReplaceAllString(endpoint, ""), "/") + "/"
}

package core

import (
	"fmt"
	"net/http"
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
}

// RoundTrip implements http.RoundTripper.
func (t *guardedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
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

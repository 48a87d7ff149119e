package auditsite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/oauth2/google"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/teamlogin"
)

// tokens issues access tokens of Google accounts.
type tokens struct {
	home     home.Home
	engineer string
	teams    teamlogin.Teams
}

// token returns an access token: of the engineer by the login in the home, and of a team as its runs get it.
func (t tokens) token(ctx context.Context, account string) (string, error) {
	if account != t.engineer {
		return t.teams.Token(ctx, account)
	}
	raw, err := os.ReadFile(t.home.EngineerCredentials())
	if err != nil {
		return "", err
	}
	return teamlogin.FromJSON(ctx, raw, google.AuthorizedUser)
}

// tunnelTimeout bounds a request for a token.
const tunnelTimeout = 10 * time.Second

// tunnel returns a client that reaches the emulated Google Cloud at an address under the names of Google's hosts, as runs do.
func tunnel(h home.Home, address string) (*http.Client, error) {
	proxy, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	authorities, err := filepath.Glob(filepath.Join(h.Certificates(), "*.pem"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	for _, path := range authorities {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		roots.AppendCertsFromPEM(raw)
	}
	return &http.Client{Timeout: tunnelTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		// The command ends soon after, and there is one connection for each team.
		DisableKeepAlives: true,
		Proxy: func(request *http.Request) (*url.URL, error) {
			if request.URL.Scheme != "https" {
				return nil, nil // the emulator's own address
			}
			return proxy, nil
		},
	}}, nil
}

package auditsite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/strata-platform/strata/internal/audit/login"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

// tokens issues access tokens of Google accounts.
type tokens struct {
	home home.Home
	// google is the URL of the emulated Google Cloud.
	google   string
	engineer string
	teams    login.Teams
}

// token returns an access token: of the engineer by the login in the home, and of a team as its runs get it.
func (t tokens) token(ctx context.Context, account string) (string, error) {
	if account != t.engineer {
		client, err := t.tunnel()
		if err != nil {
			return "", err
		}
		defer client.CloseIdleConnections()
		return t.teams.Token(context.WithValue(ctx, oauth2.HTTPClient, client), account)
	}
	raw, err := os.ReadFile(t.home.EngineerCredentials())
	if err != nil {
		return "", err
	}
	source, err := login.FromJSON(ctx, raw, google.AuthorizedUser)
	if err != nil {
		return "", err
	}
	token, err := source.Token()
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// tunnel returns a client that reaches the emulated Google Cloud under the names of Google's hosts, as runs do.
func (t tokens) tunnel() (*http.Client, error) {
	proxy, err := url.Parse(t.google)
	if err != nil {
		return nil, err
	}
	authorities, err := filepath.Glob(filepath.Join(t.home.Certificates(), "*.pem"))
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
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		Proxy: func(request *http.Request) (*url.URL, error) {
			if request.URL.Scheme != "https" {
				return nil, nil // the emulator's own address
			}
			return proxy, nil
		},
	}}, nil
}

package google_test

import (
	"slices"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
)

func TestVariablesLeadPodsToTheEmulator(t *testing.T) {
	access := google.Access{Local: "http://127.0.0.1:15001", Authority: []byte("certificate")}
	key := `KEY={"token_uri": "http://127.0.0.1:15001/token"}`
	for name, c := range map[string]struct {
		access    google.Access
		env, want []string
	}{
		"a key":                   {access, []string{key}, []string{`KEY={"token_uri": "http://oauth2.googleapis.com/token"}`, "SSL_CERT_DIR=/etc/ssl/certs:/etc/strata"}},
		"another folder is set":   {access, []string{"SSL_CERT_DIR=/own"}, []string{"SSL_CERT_DIR=/own"}},
		"without an emulator":     {google.Access{}, []string{key}, []string{key}},
		"another port is another": {access, []string{"A=http://127.0.0.1:1500"}, []string{"A=http://127.0.0.1:1500", "SSL_CERT_DIR=/etc/ssl/certs:/etc/strata"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.env)
			if got := c.access.Variables(c.env); !slices.Equal(got, c.want) || !slices.Equal(c.env, before) {
				t.Errorf("the variables are %q, want %q; the given ones are %q", got, c.want, c.env)
			}
		})
	}
}

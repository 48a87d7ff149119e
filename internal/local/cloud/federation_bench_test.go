package cloud_test

import (
	"context"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkExchange measures what a process of a run does before its first call to Google Cloud: a connection through the tunnel, the
// exchange of the run's token, and the request for a token of the Google account.
func BenchmarkExchange(b *testing.B) {
	f, email := newFederated(b)
	token := f.token("web", pool)
	identity := keyless.Identity{Account: email, Audience: audience}
	var took time.Duration
	for b.Loop() {
		client := f.throughTunnel()
		began := time.Now()
		source, err := identity.Source(context.WithValue(b.Context(), oauth2.HTTPClient, client),
			func(context.Context) (string, error) { return token, nil }, cloudPlatform)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := source.Token(); err != nil {
			b.Fatal(err)
		}
		took += time.Since(began)
		client.CloseIdleConnections()
	}
	figure.Seconds(b, "token of a run exchanged for one of its Google account", took/time.Duration(b.N), 20*time.Millisecond)
}

package forward

import (
	"context"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

func TestPagesOfTwoTeamsShareNoHostAndNoCookies(t *testing.T) {
	seen := map[string]string{}
	for _, namespace := range []string{"team-web", "team-shop"} {
		f, err := Listen(&rest.Config{Host: "https://192.0.2.1"}, Target{Kind: KindService, Namespace: namespace, Name: "blog", Port: 80, Scheme: "http"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			f.Serve(ended, func(error) {})
		})
		page, err := url.Parse(f.Page().URL)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := url.Parse(f.Result().URL)
		if err != nil {
			t.Fatal(err)
		}
		if want := "blog." + namespace + ".localhost"; page.Hostname() != want || page.Port() != plain.Port() {
			t.Errorf("the page is %s, want host %s and port %s", page, want, plain.Port())
		}
		if other := seen[page.Hostname()]; other != "" {
			t.Errorf("%s and %s share the host %s", other, namespace, page.Hostname())
		}
		seen[page.Hostname()] = namespace
	}
}

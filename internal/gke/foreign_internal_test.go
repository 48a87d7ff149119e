package gke

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestTheFluxOfAClusterIsFoundByItsRootSource(t *testing.T) {
	for name, c := range map[string]struct {
		code       int
		body       string
		want, fail string
	}{
		"a Flux":          {code: http.StatusOK, body: `{"spec":{"url":"https://git.acme.example/fleet.git"}}`, want: "https://git.acme.example/fleet.git"},
		"no Flux":         {code: http.StatusNotFound, body: `404 page not found`},
		"no right":        {code: http.StatusForbidden, body: `{"kind":"Status","reason":"Forbidden"}`, fail: "look for another platform's Flux"},
		"not an answer":   {code: http.StatusOK, body: `<html>`, fail: "look for another platform's Flux"},
		"an empty source": {code: http.StatusOK, body: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != rootSource {
					t.Errorf("the request is for %s", r.URL.Path)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			got, err := fluxSource(t.Context(), &rest.Config{Host: server.URL})
			if got != c.want || (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
				t.Errorf("the source is %q, %v", got, err)
			}
		})
	}
	if !sameRepository("https://a/fleet.git", "https://a/fleet/") || sameRepository("https://a/fleet", "https://b/fleet") {
		t.Error("sameRepository is wrong")
	}
}

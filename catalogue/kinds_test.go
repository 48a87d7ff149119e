package catalogue_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/catalogue"
)

func TestKindsOfACluster(t *testing.T) {
	const listed = `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "catalogue.strata.dev/v1", "resources": [
		{"name": "databases", "singularName": "database", "namespaced": true, "kind": "Database", "verbs": ["list"]},
		{"name": "databases/status", "singularName": "", "namespaced": true, "kind": "Database", "verbs": ["get"]},
		{"name": "regions", "singularName": "region", "namespaced": false, "kind": "Region", "verbs": ["list"]}]}`
	for name, test := range map[string]struct {
		// lists are the answers to the lists of the kinds; the last one repeats, and an empty one is the answer 404.
		lists     []string
		ready     int
		want, err string
	}{
		"are the namespaced ones, without subresources":                   {lists: []string{listed}, ready: http.StatusOK, want: "databases"},
		"are none without a catalogue":                                    {lists: []string{""}, ready: http.StatusOK},
		"are unknown while the API server starts":                         {lists: []string{""}, ready: http.StatusInternalServerError, err: "the API server is not ready"},
		"are known when the API server became ready between two requests": {lists: []string{"", listed}, ready: http.StatusOK, want: "databases"},
	} {
		t.Run(name, func(t *testing.T) {
			lists := slices.Clone(test.lists)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := lists[0]
				switch {
				case r.URL.Path == "/readyz":
					w.WriteHeader(test.ready)
					return
				case len(lists) > 1:
					lists = lists[1:]
				}
				if answer == "" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, answer)
			}))
			defer server.Close()
			client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			kinds, err := catalogue.Kinds(t.Context(), client)
			var names []string
			for _, kind := range kinds {
				names = append(names, kind.Name)
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("the kinds are %q, want %q", got, test.want)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

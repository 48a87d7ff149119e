// Package coretest contains a service for tests of the calls that wait for operations.
package coretest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// BusyService starts a service that answers the first two calls with an error: the status code and the JSON body
// refusal. The next two calls return an operation in progress, and all later calls a finished operation. BusyService
// returns a provider whose endpoints are the service, and the number of calls so far.
func BusyService(t *testing.T, code int, refusal string) (*core.Provider, *int) {
	t.Helper()
	calls := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.Header().Set("Content-Type", "application/json")
		switch {
		case calls <= 2:
			w.WriteHeader(code)
			fmt.Fprint(w, refusal)
		case calls <= 4:
			fmt.Fprint(w, `{"name": "op-1", "status": "RUNNING"}`)
		default:
			fmt.Fprint(w, `{"name": "op-1", "status": "DONE"}`)
		}
	}))
	t.Cleanup(srv.Close)
	config := map[string]property.Value{"accessToken": property.New("token")}
	for _, api := range []string{"compute", "container", "iam", "kms", "resourceManager", "serviceUsage", "sql", "storage"} {
		config[api+"CustomEndpoint"] = property.New(srv.URL + "/")
	}
	p := &core.Provider{}
	if err := p.Configure(t.Context(), property.NewMap(config)); err != nil {
		t.Fatal(err)
	}
	return p, &calls
}

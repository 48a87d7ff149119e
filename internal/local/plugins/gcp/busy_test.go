package gcp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/api/container/v1"
	"google.golang.org/api/sqladmin/v1beta4"
)

// busy is a service that refuses the first calls and then answers with an operation. The operation is done after two
// more calls.
func busy(t *testing.T, refusal string, code int) (*plugin, *int) {
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
	at := srv.URL + "/"
	return &plugin{clients: &clients{settings: settings{ContainerEndpoint: at, SQLEndpoint: at}, http: srv.Client()}}, &calls
}

func TestACallWaitsWhileTheClusterIsBusy(t *testing.T) {
	g, calls := busy(t, `{"error": {"code": 400, "message": "Cluster is running incompatible operation op-0.",
		"errors": [{"reason": "failedPrecondition"}], "status": "FAILED_PRECONDITION"}}`, http.StatusBadRequest)
	err := g.clusterCall(t.Context(), "p", "l", 0, func(svc *container.Service) (*container.Operation, error) {
		return svc.Projects.Locations.Clusters.Delete("projects/p/locations/l/clusters/c").Context(t.Context()).Do()
	})
	if err != nil || *calls != 5 {
		t.Errorf("after %d calls: %v", *calls, err)
	}
}

func TestACallWaitsWhileTheInstanceIsBusy(t *testing.T) {
	g, calls := busy(t, `{"error": {"code": 409, "message": "Try later.", "errors": [{"reason": "operationInProgress"}]}}`, http.StatusConflict)
	err := g.sqlCall(t.Context(), "p", 0, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
		return svc.Instances.Delete("p", "i").Context(t.Context()).Do()
	})
	if err != nil || *calls != 5 {
		t.Errorf("after %d calls: %v", *calls, err)
	}
}

func TestOtherRefusalsAreNotWaitedFor(t *testing.T) {
	g, calls := busy(t, `{"error": {"code": 400, "message": "Labels could not be set due to fingerprint mismatch.",
		"errors": [{"reason": "failedPrecondition"}], "status": "FAILED_PRECONDITION"}}`, http.StatusBadRequest)
	err := g.clusterCall(t.Context(), "p", "l", 0, func(svc *container.Service) (*container.Operation, error) {
		return svc.Projects.Locations.Clusters.Delete("projects/p/locations/l/clusters/c").Context(t.Context()).Do()
	})
	if err == nil || *calls != 1 {
		t.Errorf("after %d calls: %v", *calls, err)
	}
}

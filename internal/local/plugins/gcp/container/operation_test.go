package container

import (
	"net/http"
	"testing"

	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core/coretest"
)

// deleteCluster deletes a cluster through the call under test.
func deleteCluster(t *testing.T, p *core.Provider) error {
	t.Helper()
	return provider{p}.clusterCall(t.Context(), "p", "l", 0, func(svc *container.Service) (*container.Operation, error) {
		return svc.Projects.Locations.Clusters.Delete("projects/p/locations/l/clusters/c").Context(t.Context()).Do()
	})
}

func TestACallWaitsWhileTheClusterIsBusy(t *testing.T) {
	p, calls := coretest.BusyService(t, http.StatusBadRequest, `{"error": {"code": 400, "message": "Cluster is running incompatible operation op-0.",
		"errors": [{"reason": "failedPrecondition"}], "status": "FAILED_PRECONDITION"}}`)
	if err := deleteCluster(t, p); err != nil || *calls != 5 {
		t.Errorf("after %d calls: %v, want success after 5", *calls, err)
	}
}

func TestACallReturnsOtherErrorsAtOnce(t *testing.T) {
	p, calls := coretest.BusyService(t, http.StatusBadRequest, `{"error": {"code": 400, "message": "Labels could not be set due to fingerprint mismatch.",
		"errors": [{"reason": "failedPrecondition"}], "status": "FAILED_PRECONDITION"}}`)
	if err := deleteCluster(t, p); err == nil || *calls != 1 {
		t.Errorf("after %d calls: %v, want an error after the first", *calls, err)
	}
}

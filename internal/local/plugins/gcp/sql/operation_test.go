package sql

import (
	"net/http"
	"testing"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core/coretest"
)

func TestACallWaitsWhileTheInstanceIsBusy(t *testing.T) {
	p, calls := coretest.BusyService(t, http.StatusConflict,
		`{"error": {"code": 409, "message": "Try later.", "errors": [{"reason": "operationInProgress"}]}}`)
	err := provider{p}.sqlCall(t.Context(), "p", 0, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
		return svc.Instances.Delete("p", "i").Context(t.Context()).Do()
	})
	if err != nil || *calls != 5 {
		t.Errorf("after %d calls: %v, want success after 5", *calls, err)
	}
}

package engine_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/workdir"
)

func TestRunsAndChecksRefuseTheSameBackends(t *testing.T) {
	own := t.TempDir()
	const address = "file:///elsewhere"
	for name, req := range map[string]engine.Request{
		"spec":        {Backend: address},
		"environment": {Env: map[string]string{"PULUMI_BACKEND_URL": address}},
	} {
		req.Operation, req.Project, req.Stack, req.BackendFolder = engine.Up, "shop", "dev", own
		_, err := (&engine.Engine{Folders: &workdir.Folders{Parent: t.TempDir()}}).Run(t.Context(), req)
		if err == nil || !strings.Contains(err.Error(), "use file://"+own) {
			t.Errorf("by %s: error %v, want one that names the folder %s", name, err, own)
		}
		if check := req.CheckBackend(); check == nil || err == nil || check.Error() != err.Error() {
			t.Errorf("by %s: the check says %v, the run %v", name, check, err)
		}
	}
}

package lifecycle

import (
	"io"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
)

const (
	suspendedSync = `{"kind": "KustomizationList", "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "items": [
		{"kind": "Kustomization", "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "spec": {"suspend": true},
		 "metadata": {"name": "web", "namespace": "team-web", "managedFields": [{"manager": "MANAGER", "operation": "Apply"}]}}]}`
	deletedSync = `{"kind": "KustomizationList", "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "items": [
		{"kind": "Kustomization", "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
		 "metadata": {"name": "own", "namespace": "team-web", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]}}]}`
	resumedSync = `{"kind": "Kustomization", "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "metadata": {"name": "web", "namespace": "team-web"}}`

	syncs   = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
	webSync = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/team-web/kustomizations/web"
)

func TestUpResumesAnInterruptedPlatform(t *testing.T) {
	missing := status.Item{Layer: status.LayerPlatform, Kind: "Deployment", Reason: "Missing"}
	ready := status.Item{Layer: status.LayerPlatform, Kind: "Deployment", Ready: true}
	for name, test := range map[string]struct {
		layer   string
		prepare func(*testTarget)
		answers map[string]string
		want    string
	}{
		"nothing was interrupted":                {PlatformLayer, func(*testTarget) {}, nil, "up"},
		"down, while it destroyed layer 2":       {PlatformLayer, func(target *testTarget) { _ = target.journal.BeginDown(PlatformLayer) }, nil, "destroy up"},
		"down, before layer 2":                   {PlatformLayer, func(target *testTarget) { _ = target.journal.BeginDown(ClusterStep) }, nil, "refresh up"},
		"down, while it destroyed layer 1":       {BootstrapLayer, func(target *testTarget) { _ = target.journal.BeginDown(BootstrapLayer) }, nil, "refresh up"},
		"a down that nobody noted":               {PlatformLayer, func(*testTarget) {}, map[string]string{syncs: suspendedSync, webSync: resumedSync}, "refresh up"},
		"a deletion of the team's own":           {PlatformLayer, func(*testTarget) {}, map[string]string{syncs: deletedSync}, "up"},
		"a run of Pulumi":                        {BootstrapLayer, func(target *testTarget) { target.pending = make([]apitype.OperationV2, 1) }, nil, "refresh up"},
		"a missing object":                       {PlatformLayer, func(target *testTarget) { target.below = []status.Item{missing, ready} }, nil, "refresh up"},
		"a lost cluster, which the up notices":   {PlatformLayer, func(target *testTarget) { target.below, target.refreshes = []status.Item{missing, ready}, true }, nil, "up"},
		"every object is missing: a new cluster": {PlatformLayer, func(target *testTarget) { target.below = []status.Item{missing} }, nil, "up"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]string{"/api/v1/namespaces": `{"kind": "NamespaceList", "apiVersion": "v1", "items": []}`}
			for path, answer := range test.answers {
				answers[path] = strings.ReplaceAll(answer, "MANAGER", "strata-down")
			}
			target := newTestTarget(t, answers)
			test.prepare(target)
			if _, err := New(target).LayerUp(t.Context(), progress.New(io.Discard), test.layer); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(target.runner.done, " "); got != test.want {
				t.Errorf("it runs %q, want %q", got, test.want)
			}
			if _, begun := target.journal.DownBegun(); begun && test.layer == PlatformLayer {
				t.Error("the platform is up, and is said to go down")
			}
		})
	}
}

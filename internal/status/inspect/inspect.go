// Package inspect inspects a platform in its cluster and reports on it: once, or by a watch.
//
// It takes a snapshot of the cluster (package snapshot), links its objects (graph), decides which of them are ready
// (health), and finds the causes of those that are not (cause).
package inspect

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/health"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

// Look reports on the platform in the cluster of config. Collect and Watch.Report have this signature.
type Look func(ctx context.Context, config *rest.Config, scope graph.Scope) (status.Report, error)

// Collect lists every object of the layers in the cluster of config, and reports on them together with scope.Below. It
// changes nothing. It needs only the permission to list.
func Collect(ctx context.Context, config *rest.Config, scope graph.Scope) (status.Report, error) {
	s, err := snapshot.Take(ctx, config)
	if err != nil {
		return status.Report{}, err
	}
	report, _ := Of(s, scope)
	return report, nil
}

// Watch returns the same reports as Collect, but lists the objects only once. Its zero value is ready for use; Stop ends
// it.
type Watch struct{ snapshot.Watch }

// Report reports on the current state of the watch, which may lag behind the cluster by moments. See snapshot.Watch for
// its errors.
func (w *Watch) Report(ctx context.Context, config *rest.Config, scope graph.Scope) (status.Report, error) {
	s, err := w.Snapshot(ctx, config)
	if err != nil {
		return status.Report{}, err
	}
	report, _ := Of(s, scope)
	return report, nil
}

// Of reports on the platform in a snapshot. It also returns the objects of the snapshot, with the same states as in the
// report, for callers that need more of an object than its item.
func Of(s *snapshot.Snapshot, scope graph.Scope) (status.Report, *graph.Graph) {
	g := graph.New(s, scope)
	health.Assess(g)
	return report(g), g
}

package plans

import (
	"context"

	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/plan"
)

// mostObject bounds a Plan without its status, in bytes. etcd takes objects of up to 1.5 MiB.
const mostObject = 1_000_000

// resultOf returns the status of a Plan that is complete.
func resultOf(w *work, failed bool) plan.Status {
	return planned.Result{Stacks: w.planned, Size: w.size, Note: w.note, Failed: failed || w.refused, Hides: w.hides}.Status()
}

// write replaces the status of a Plan. The Plan may be gone.
func (r *reconciler) write(ctx context.Context, w *work, status plan.Status) error {
	return planned.Write(ctx, r.Client, w.key, w.uid, status)
}

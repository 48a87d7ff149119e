package trace

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/stacklog"
)

// keepLogTime bounds how long the end of a run waits for the write of its log.
const keepLogTime = 10 * time.Second

// KeepLog writes the log of a run that has ended, before the status reports the end: who sees the status finds the log. failure says why
// the run failed, and is empty if it succeeded. printed is what the run has printed. A log that cannot be written delays nothing else and
// fails nothing.
func (t *Trace) KeepLog(ctx context.Context, to client.Client, stack *v1.Stack, failure, printed string) {
	if t.run.Operation == string(engine.Destroy) && failure == "" {
		// The Stack's deletion ends with this run, and the log goes with the Stack.
		return
	}
	ctx, cancel := context.WithTimeout(ctx, keepLogTime)
	defer cancel()
	err := stacklog.Write(ctx, to, stack, stacklog.Run{
		Operation: t.run.Operation, Commit: t.run.Revision,
		Began: metav1.NewMicroTime(t.run.Began), Ended: metav1.NewMicroTime(time.Now()),
		Message: report.Cut(failure, report.LongestMessage), Log: printed,
	})
	// A cluster with an older layer 3 has no such kind.
	if err != nil && !meta.IsNoMatchError(err) {
		log.FromContext(ctx).Info("the log of the run is not kept", "reason", report.Cut(err.Error(), report.LongestNote))
	}
}

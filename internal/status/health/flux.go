package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/message"
)

// fluxState returns the state of the Ready condition of a Flux object. Between two retries the condition only says that
// Flux retries. The latest warning then gives the reason.
func fluxState(g *graph.Graph, o *graph.Object) (ok bool, reason, text string) {
	ok, reason, text = ready(o.Content)
	retrying := graph.At(condition(o.Content, "Reconciling"), "reason") == "ProgressingWithRetry"
	switch {
	case ok || reason != status.ReasonProgressing:
	case retrying:
		reason, text = warned(g, o, reason, text)
	case reapplies(g, o):
		return true, "", ""
	case o.Kind == "Kustomization":
		// While Flux retries a commit, the reason of its last failure is more useful than that it is in progress.
		if source := g.SourceOf(o); source.Revision() != "" && g.FailedRevision(o) == source.Revision() && o.Text("status", "lastAppliedRevision") != source.Revision() {
			reason, text = warned(g, o, reason, text)
		}
	}
	if reason == "BuildFailed" {
		text = message.Build(text)
	}
	return ok, reason, text
}

// reapplies reports whether a Kustomization only repeats an apply that has succeeded, as it does at every interval. Its
// previous state is then still valid.
func reapplies(g *graph.Graph, o *graph.Object) bool {
	if o.Kind != "Kustomization" {
		return false
	}
	observed, _, _ := unstructured.NestedInt64(o.Content.Object, "status", "observedGeneration")
	applied := o.Text("status", "lastAppliedRevision")
	if observed != o.Content.GetGeneration() || applied == "" || applied != g.SourceOf(o).Revision() {
		return false
	}
	history := o.Members("status", "history")
	return len(history) == 0 || graph.At(history[0], "lastReconciledStatus") == "ReconciliationSucceeded"
}

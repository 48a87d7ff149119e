package health

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/message"
)

// stackState returns the state of a Stack's Ready condition. The reason is that of the Stalled or Reconciling condition,
// which is more specific.
func stackState(g *graph.Graph, o *graph.Object) (ok bool, reason, text string) {
	ok, reason, text = ready(o.Content)
	if ok {
		return ok, reason, text
	}
	// While the operator waits for a retry, the condition gives only its time. The latest warning gives the reason.
	if strings.Contains(text, "retry after ") {
		if _, about := g.Warning(o); about != "" {
			return false, "RetryingAfterFailure", about
		}
	}
	for _, kind := range []string{"Stalled", "Reconciling"} {
		if c := condition(o.Content, kind); c["status"] == "True" && graph.At(c, "message") == text {
			return false, graph.At(c, "reason"), text
		}
	}
	return ok, reason, text
}

// destroyFailure returns why the operator cannot destroy a deleted Stack, or "".
func destroyFailure(o *graph.Object) string {
	if o.Kind != "Stack" || o.Text("status", "lastUpdate", "type") != "destroy" || o.Text("status", "lastUpdate", "state") != "failed" {
		return ""
	}
	return "it cannot be destroyed: " + cmp.Or(message.Destroy(o.Text("status", "lastUpdate", "message")), "the operator reports no reason")
}

// byGeneration matches the revision of a Program, which the embedded operator writes as its generation and its hash.
var byGeneration = regexp.MustCompile(`^(\d+)@sha256:`)

// stackBehind says which change the operator has not run yet, or returns "".
func stackBehind(g *graph.Graph, o *graph.Object) string {
	program := g.Get("Program", o.Namespace, o.Text("spec", "programRef", "name"))
	match := byGeneration.FindStringSubmatch(o.Text("status", "lastUpdate", "lastSuccessfulCommit"))
	if program == nil || program.Content == nil || match == nil {
		return ""
	}
	if match[1] != strconv.FormatInt(program.Content.GetGeneration(), 10) {
		return "the latest change of Program " + program.Name + " has not run yet"
	}
	return ""
}

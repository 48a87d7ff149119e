package health

import (
	"strings"

	"github.com/strata-platform/strata/internal/status/graph"
)

// podState returns the state of a pod's Ready condition. The reason is that of a waiting container or of the scheduler,
// which is more specific. A completed pod is ready.
func podState(o *graph.Object) (ok bool, reason, text string) {
	ok, reason, text = ready(o.Content)
	if ok {
		return true, "", ""
	}
	if o.Text("status", "phase") == "Succeeded" {
		return true, "Completed", ""
	}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, c := range o.Members("status", field) {
			if reason := graph.At(c, "state", "waiting", "reason"); reason != "" && reason != "PodInitializing" {
				return false, reason, graph.At(c, "state", "waiting", "message")
			}
		}
	}
	if c := condition(o.Content, "PodScheduled"); c != nil && c["status"] == "False" {
		return false, graph.At(c, "reason"), graph.At(c, "message")
	}
	return ok, reason, text
}

// overQuota returns why the API server has rejected the pods of a workload, or "".
func overQuota(o *graph.Object) string {
	c := condition(o.Content, "ReplicaFailure")
	if c == nil || c["status"] != "True" {
		return ""
	}
	if _, why, found := strings.Cut(graph.At(c, "message"), " is forbidden: "); found {
		return why
	}
	return graph.At(c, "message")
}

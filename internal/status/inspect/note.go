package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/terminal"
)

// quietKinds are the kinds that the tree shows only if they are not ready.
var quietKinds = []string{
	"Namespace", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"ServiceAccount", "RoleBinding", "TenantPolicy", "Secret", "ConfigMap", "Receiver", "Program", "PersistentVolumeClaim",
}

// operatorLabel on the operator's Deployment names the operator (sync/operator). upstreamOperator is its value for upstream's.
const operatorLabel, upstreamOperator = "strata.dev/operator", "upstream"

// note returns the note of an object in the tree.
func note(g *graph.Graph, o *graph.Object) status.Note {
	n := status.Note{Quiet: slices.Contains(quietKinds, o.Kind)}
	if team, ok := g.Scope.Team(o.Namespace); ok && o.Layer == status.LayerTeam {
		n.Account = team.Namespace() + "/" + team.ServiceAccount()
	}
	switch o.Kind {
	case graph.GitRepository, graph.OCIRepository, graph.Bucket:
		n.Text = graph.ShortRevision(o.Text("status", "artifact", "revision"))
	case "Kustomization":
		n.Text = graph.ShortRevision(o.Text("status", "lastAppliedRevision"))
	case "Stack":
		n.Text = outputs(o)
		if drifted(o) {
			// The command drift shows the details.
			n.Text = strings.TrimSuffix("drifted, "+n.Text, ", ")
		}
	case "Deployment", "StatefulSet", "Job":
		n.Text = pods(g.PodsOf(o))
		if o.Layer == status.LayerSync && o.Text("metadata", "labels", operatorLabel) == upstreamOperator {
			n.Text = strings.TrimPrefix(n.Text+", reads every Secret of the cluster", ", ")
		}
	case "Pod":
		n.Inner = g.OwnerOf(o) != nil
		n.Quiet = n.Inner
		n.Text = runtimeOf(o.Runtime)
	}
	return n
}

// pods counts pods by their runtime: "2 pods (process), 1 pod (simulated)".
func pods(all []*graph.Object) string {
	var parts []string
	count := map[string]int{}
	for _, pod := range all {
		count[pod.Runtime]++
	}
	for _, runtime := range slices.Sorted(maps.Keys(count)) {
		plural := "pods"
		if count[runtime] == 1 {
			plural = "pod"
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s %s", count[runtime], plural, runtimeOf(runtime))))
	}
	return strings.Join(parts, ", ")
}

// longestRuntime is the maximum length of a pod's runtime in characters.
const longestRuntime = 20

// runtimeOf returns a runtime in parentheses, or "" for none.
func runtimeOf(runtime string) string {
	if runtime == "" {
		return ""
	}
	// A team may set the annotation, too, so it is escaped.
	return "(" + terminal.Line(runtime, longestRuntime) + ")"
}

// driftedCondition is the condition with the result of a drift check (operator/api/v1, DriftedCondition).
const driftedCondition = "Drifted"

// drifted reports whether the last drift check of a Stack has found a difference.
func drifted(o *graph.Object) bool {
	return slices.ContainsFunc(o.Members("status", "conditions"), func(c map[string]any) bool {
		return graph.At(c, "type") == driftedCondition && graph.At(c, "status") == string(metav1.ConditionTrue)
	})
}

// outputs returns the beginning of a Stack's outputs, without secrets.
func outputs(o *graph.Object) string {
	if o.Content == nil {
		return ""
	}
	all, _, _ := unstructured.NestedMap(o.Content.Object, "status", "outputs")
	return status.OutputsLine(all, status.MostOutputs)
}

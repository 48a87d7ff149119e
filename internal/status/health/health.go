// Package health decides whether an object of a platform is ready, and if not, why.
package health

import (
	"slices"
	"strings"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/message"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

// Assess sets the fields Ready, Reason and Message of every object that exists.
func Assess(g *graph.Graph) {
	for _, o := range g.Objects {
		if o.Content == nil {
			continue
		}
		o.Ready, o.Reason, o.Message = state(g, o)
		o.Message = message.OneLine(o.Message)
		// The deletion of a Stack can wait for an approval, too.
		if o.Content.GetDeletionTimestamp() != nil && !o.AwaitsApproval() {
			o.Ready, o.Reason = false, status.ReasonTerminating
			o.Message = strings.TrimSuffix("it is being deleted: "+o.Message, ": ")
			if why := destroyFailure(o); why != "" {
				o.Reason, o.Message = status.ReasonKept, why
			}
		}
	}
	// The condition of an object may be about an older state of its source. Whether a source is ready must be known first.
	for _, o := range g.Objects {
		if o.Ready && o.Content != nil {
			if behind := behind(g, o); behind != "" {
				o.Ready, o.Reason, o.Message = false, status.ReasonProgressing, behind
			}
		}
	}
}

// state returns whether an object is ready. reason and text are empty for an object that needs none.
func state(g *graph.Graph, o *graph.Object) (ok bool, reason, text string) {
	switch o.Kind {
	case graph.GitRepository, graph.OCIRepository, graph.Bucket, "Kustomization", "Receiver":
		if suspended, _, _ := unstructured.NestedBool(o.Content.Object, "spec", "suspend"); suspended {
			text := "Flux does not apply pushes"
			if o.SuspendedByDown() {
				text += "; `strata down` suspended it"
			}
			return false, status.ReasonSuspended, text
		}
		return fluxState(g, o)
	case "Stack":
		return stackState(g, o)
	case "Program":
		// Upstream's operator sets no conditions on a Program.
		if len(o.Members("status", "conditions")) == 0 {
			return true, "", ""
		}
		return ready(o.Content)
	case "Deployment", "StatefulSet", "Job", "PersistentVolumeClaim":
		if wanted, found, _ := unstructured.NestedInt64(o.Content.Object, "spec", "replicas"); found && wanted == 0 && o.Kind == "Deployment" && o.Layer != status.LayerTeam {
			return false, status.ReasonScaledDown, ""
		}
		if why := overQuota(o); why != "" {
			return false, status.ReasonOverQuota, why
		}
		ok, reason, text := computed(o.Content)
		if !ok && o.Kind == "PersistentVolumeClaim" {
			reason, text = warned(g, o, reason, text)
		}
		return ok, reason, text
	case "Pod":
		return podState(o)
	case "Namespace":
		return o.Text("status", "phase") != "Terminating", "", ""
	}
	return true, "", ""
}

// ready returns the state of the Ready condition. It ignores a condition of an older generation.
func ready(o *unstructured.Unstructured) (ok bool, reason, text string) {
	c := condition(o, "Ready")
	if c == nil {
		return false, status.ReasonProgressing, "its controller has reported no state yet"
	}
	observed, found, _ := unstructured.NestedInt64(c, "observedGeneration")
	if found && observed != o.GetGeneration() {
		return false, status.ReasonProgressing, "its controller has not observed the latest change yet"
	}
	return c["status"] == "True", graph.At(c, "reason"), graph.At(c, "message")
}

// condition returns a condition of an object, or nil.
func condition(o *unstructured.Unstructured, kind string) map[string]any {
	if o == nil {
		return nil
	}
	all := graph.ObjectsOf(unstructured.NestedSlice(o.Object, "status", "conditions"))
	i := slices.IndexFunc(all, func(c map[string]any) bool { return c["type"] == kind })
	if i < 0 {
		return nil
	}
	return all[i]
}

// warned returns the reason and the message of the latest warning about an object, which is more specific than the object's
// condition. Without a warning it returns the given ones.
func warned(g *graph.Graph, o *graph.Object, reason, text string) (string, string) {
	if warning, about := g.Warning(o); about != "" {
		return warning, about
	}
	return reason, text
}

// computed returns the state that kstatus computes, for kinds without a Ready condition.
func computed(o *unstructured.Unstructured) (ok bool, reason, text string) {
	result, err := kstatus.Compute(o)
	if err != nil {
		return false, "Unknown", err.Error()
	}
	return result.Status == kstatus.CurrentStatus, string(result.Status), result.Message
}

// behind says which change a ready object has not processed yet, or returns "".
func behind(g *graph.Graph, o *graph.Object) string {
	if at := o.Content.GetAnnotations()[snapshot.AnnotationRequestedAt]; at != "" && (o.Kind == "Kustomization" || slices.Contains(graph.SourceKinds, o.Kind)) {
		if o.Text("status", "lastHandledReconcileAt") != at {
			return "Flux has not reconciled it since the last request"
		}
	}
	switch o.Kind {
	case "GitRepository":
		head := g.Scope.Heads[o.Namespace+"/"+o.Name]
		if team, _ := g.Scope.Team(o.Namespace); team.Offer != "" && !strings.HasPrefix(head, o.Text("spec", "ref", "branch")+"@") {
			break // An entry of the catalogue that comes from Strata's repository, and not from the platform's.
		}
		if head != "" && head != o.Text("status", "artifact", "revision") {
			return "the latest commit, " + graph.ShortRevision(head) + ", is not fetched yet"
		}
	case "Kustomization":
		if source := g.SourceOf(o); source != nil && source.Content != nil {
			if newest := source.Text("status", "artifact", "revision"); newest != "" && newest != o.Text("status", "lastAppliedRevision") {
				return "the latest commit, " + graph.ShortRevision(newest) + ", is not applied yet"
			}
		}
	case "Stack":
		return stackBehind(g, o)
	}
	return ""
}

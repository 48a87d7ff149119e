package status

import (
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RuntimeAnnotation is the annotation of a pod that says how the local node runs it.
const RuntimeAnnotation = "strata.dev/runtime"

// requestedAt is the annotation that requests a reconciliation from Flux: `flux reconcile` sets it, and a Receiver after
// a push.
const requestedAt = "reconcile.fluxcd.io/requestedAt"

// judge sets the state of every object.
func (w *world) judge() {
	for _, o := range w.objects {
		if o.content == nil {
			continue
		}
		o.Ready, o.Reason, o.Message = w.state(o)
		o.Message = oneLine(o.Message)
		if o.content.GetDeletionTimestamp() != nil {
			o.Ready, o.Reason = false, reasonTerminating
			o.Message = strings.TrimSuffix("it is being deleted: "+o.Message, ": ")
			if why := notDestroyed(o); why != "" {
				o.Reason, o.Message = reasonKept, why
			}
		}
	}
	// A ready object may be ready for an old state of its source.
	for _, o := range w.objects {
		if o.Ready && o.content != nil {
			if behind := w.behind(o); behind != "" {
				o.Ready, o.Reason, o.Message = false, reasonProgressing, behind
			}
		}
	}
}

func (w *world) state(o *object) (bool, string, string) {
	switch o.Kind {
	case "GitRepository", "OCIRepository", "Bucket", "Kustomization", "Receiver":
		if suspended, _, _ := unstructured.NestedBool(o.content.Object, "spec", "suspend"); suspended {
			message := "nothing that is pushed is applied"
			if o.suspendedByDown() {
				message += "; `strata down` did that"
			}
			return false, reasonSuspended, message
		}
		return w.fluxState(o)
	case "Stack":
		return w.stackState(o)
	case "Program":
		// Upstream's operator sets no conditions on a Program.
		if len(o.members("status", "conditions")) == 0 {
			return true, "", ""
		}
		return ready(o.content)
	case "Deployment", "StatefulSet", "Job", "PersistentVolumeClaim":
		if wanted, found, _ := unstructured.NestedInt64(o.content.Object, "spec", "replicas"); found && wanted == 0 && o.Kind == "Deployment" && o.Layer != LayerTeam {
			return false, reasonScaledDown, ""
		}
		if why := overQuota(o); why != "" {
			return false, reasonOverQuota, why
		}
		ok, reason, message := computed(o.content)
		if !ok && o.Kind == "PersistentVolumeClaim" {
			reason, message = w.warned(o, reason, message)
		}
		return ok, reason, message
	case "Pod":
		return podState(o)
	case "Namespace":
		return o.text("status", "phase") != "Terminating", "", ""
	}
	return true, "", ""
}

// ready returns the state of the Ready condition. It ignores a condition of an older generation.
func ready(o *unstructured.Unstructured) (bool, string, string) {
	c := condition(o, "Ready")
	if c == nil {
		return false, reasonProgressing, "nothing is reported yet"
	}
	observed, found, _ := unstructured.NestedInt64(c, "observedGeneration")
	if found && observed != o.GetGeneration() {
		return false, reasonProgressing, "the latest change is not taken up yet"
	}
	return c["status"] == "True", at(c, "reason"), at(c, "message")
}

func condition(o *unstructured.Unstructured, kind string) map[string]any {
	if o == nil {
		return nil
	}
	all := objectsOf(unstructured.NestedSlice(o.Object, "status", "conditions"))
	i := slices.IndexFunc(all, func(c map[string]any) bool { return c["type"] == kind })
	if i < 0 {
		return nil
	}
	return all[i]
}

// fluxState returns the state of the Ready condition of a Flux object. Between two retries the condition only says that
// Flux retries. The latest warning then gives the reason.
func (w *world) fluxState(o *object) (bool, string, string) {
	ok, reason, message := ready(o.content)
	again := at(condition(o.content, "Reconciling"), "reason") == "ProgressingWithRetry"
	switch {
	case ok || reason != reasonProgressing:
	case again:
		reason, message = w.warned(o, reason, message)
	case w.looksAgain(o):
		return true, "", ""
	case o.Kind == "Kustomization" && w.failedAt != nil:
		if source := w.sourceOf(o); source.revision() != "" && w.failedAt(o) == source.revision() && o.text("status", "lastAppliedRevision") != source.revision() {
			reason, message = w.warned(o, reason, message)
		}
	}
	if reason == "BuildFailed" {
		message = buildFault(message)
	}
	return ok, reason, message
}

// revision returns the revision of a source's artifact, or "" if the source has none.
func (o *object) revision() string {
	if o == nil {
		return ""
	}
	return o.text("status", "artifact", "revision")
}

// looksAgain reports whether a Kustomization only repeats an apply that has succeeded, as it does at every interval. Its
// previous state is then still valid.
func (w *world) looksAgain(o *object) bool {
	if o.Kind != "Kustomization" {
		return false
	}
	observed, _, _ := unstructured.NestedInt64(o.content.Object, "status", "observedGeneration")
	applied := o.text("status", "lastAppliedRevision")
	if observed != o.content.GetGeneration() || applied == "" || applied != w.sourceOf(o).revision() {
		return false
	}
	history := o.members("status", "history")
	return len(history) == 0 || at(history[0], "lastReconciledStatus") == "ReconciliationSucceeded"
}

// warned returns the latest warning about an object, which says more than the object's own reason and message. Without a
// warning it returns those.
func (w *world) warned(o *object, reason, message string) (string, string) {
	if w.events != nil {
		if warned, of := w.events(o); of != "" {
			return warned, of
		}
	}
	return reason, message
}

// behind says which change a ready object has not processed yet, or returns "".
func (w *world) behind(o *object) string {
	if at := o.content.GetAnnotations()[requestedAt]; at != "" && (o.Kind == "Kustomization" || slices.Contains(sourceKinds, o.Kind)) {
		if o.text("status", "lastHandledReconcileAt") != at {
			return "it was asked to look again and has not yet"
		}
	}
	switch o.Kind {
	case "GitRepository":
		if head := w.scope.Heads[o.Namespace+"/"+o.Name]; head != "" && head != o.text("status", "artifact", "revision") {
			return "the latest commit, " + revision(head) + ", is not fetched yet"
		}
	case "Kustomization":
		if source := w.sourceOf(o); source != nil && source.content != nil {
			if newest := source.text("status", "artifact", "revision"); newest != "" && newest != o.text("status", "lastAppliedRevision") {
				return "the latest commit, " + revision(newest) + ", is not applied yet"
			}
		}
	case "Stack":
		return w.stackBehind(o)
	}
	return ""
}

// computed returns the state that kstatus computes.
func computed(o *unstructured.Unstructured) (bool, string, string) {
	result, err := status.Compute(o)
	if err != nil {
		return false, "Unknown", err.Error()
	}
	return result.Status == status.CurrentStatus, string(result.Status), result.Message
}

// revision shortens a revision for people: the first characters of the commit are enough.
func revision(full string) string {
	branch, commit, found := strings.Cut(full, "@")
	if !found {
		branch, commit = "", full
	}
	_, sum, found := strings.Cut(commit, ":")
	if !found {
		sum = commit
	}
	const shortest = 8
	if len(sum) > shortest {
		sum = sum[:shortest]
	}
	return strings.Trim(branch+"@"+sum, "@")
}

// kindOf returns the name of the kind for the group and kind in an inventory, or "" for a kind that this package does not
// read.
func kindOf(group schema.GroupKind) string {
	for _, k := range kinds {
		if k.name == group.Kind && k.gvr.Group == group.Group {
			return k.name
		}
	}
	return ""
}

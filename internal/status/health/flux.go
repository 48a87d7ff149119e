package health

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
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
	// The message of source-controller v1.9 and of the semver library, for a repository that does not exist, too.
	if o.Kind == graph.OCIRepository && !ok && (strings.Contains(text, "no match found for semver") || strings.Contains(text, "NAME_UNKNOWN")) {
		return false, status.ReasonNothingPublished, "the registry contains no version in the range " + o.Text("spec", "ref", "semver")
	}
	if o.Kind == graph.GitRepository && !ok && strings.Contains(text, "no match found for semver") {
		return false, status.ReasonNothingPublished, "the repository contains no tag in the range " + o.Text("spec", "ref", "semver") + keeps(o)
	}
	if refused := unsigned(o); refused != "" {
		return false, status.ReasonNotSigned, refused
	}
	if refused := refusedVersion(g, o); refused != "" {
		return false, status.ReasonRolledBack, refused
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

// refusedVersion names the artifact or tag that the policy strata-versions refuses, or returns "". source-controller writes the
// conditions about an artifact before the artifact itself, and the policy refuses only the latter, so the two name different
// artifacts. kustomize-controller writes the revision before it applies it.
func refusedVersion(g *graph.Graph, o *graph.Object) string {
	switch o.Kind {
	case graph.OCIRepository, graph.GitRepository:
		stored := graph.At(condition(o.Content, "ArtifactInStorage"), "message")
		// source-controller writes the digest of an artifact here, and the revision of a commit.
		_, offered, found := strings.Cut(strings.NewReplacer("for digest", "for", "for revision", "for").Replace(strings.TrimSuffix(stored, "'")), "stored artifact for '")
		current := o.Text("status", "artifact", "revision")
		if !found || current == "" || offered == current || o.Kind == graph.GitRepository && o.Text("spec", "ref", "semver") == "" {
			return ""
		}
		return fmt.Sprintf("%s offers %s, which was not signed as a later version than %s; %s keeps running", origins[o.Kind],
			graph.ShortRevision(offered), graph.ShortRevision(current), graph.ShortRevision(current))
	case "Kustomization":
		source, applied := g.SourceOf(o), o.Text("status", "lastAppliedRevision")
		if source == nil || origins[source.Kind] == "" || !older(source.Revision(), applied) {
			return ""
		}
		return fmt.Sprintf("%s offers %s, which is older than %s; %s keeps running", origins[source.Kind],
			graph.ShortRevision(source.Revision()), graph.ShortRevision(applied), graph.ShortRevision(applied))
	}
	return ""
}

// origins are the origins of sources with versions, by their kind.
var origins = map[string]string{graph.OCIRepository: "the registry", graph.GitRepository: "the repository"}

// older reports whether the version of a revision is lower than that of another. Revisions without versions are not.
func older(revision, than string) bool {
	version := func(text string) *semver.Version {
		tag, _, _ := strings.Cut(text, "@")
		if strings.Contains(text, "@sha1:") {
			tag = strings.TrimPrefix(tag, "v")
		}
		parsed, err := semver.StrictNewVersion(tag)
		if err != nil {
			return nil
		}
		return parsed
	}
	first, second := version(revision), version(than)
	return first != nil && second != nil && first.LessThan(second)
}

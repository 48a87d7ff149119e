package cause

import (
	"cmp"
	"fmt"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/message"
	"github.com/strata-platform/strata/platform"
)

// syncExplanations explain sources, Kustomizations and Receivers. An empty person means the owner of the namespace: the team for
// its own sync, the platform team for the others.
func syncExplanations() []explanation {
	return []explanation{
		{"a commit cannot be built", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Kind != "Kustomization" || o.Reason != "BuildFailed" && o.Reason != "ArtifactFailed" {
				return "", "", ""
			}
			return message.Build(o.Message) + e.untouched(o), "", "correct it and push"
		}},
		{"the API server rejects an object of a commit: a policy, a missing permission, or the wrong fields", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Kind != "Kustomization" || o.Reason != "ReconciliationFailed" {
				return "", "", ""
			}
			why, what := message.Apply(o.Message)
			return why + e.untouched(o), "", what
		}},
		{"the objects of a sync are not healthy yet", func(_ *explainer, o *graph.Object) (string, string, string) {
			if o.Kind != "Kustomization" || o.Reason != "HealthCheckFailed" {
				return "", "", ""
			}
			return o.Message, "", "wait: Flux checks again within " + cmp.Or(o.Text("spec", "retryInterval"), o.Text("spec", "interval"))
		}},
		{"nothing is published in a registry, or no tag is pushed", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonNothingPublished {
				return "", "", ""
			}
			if o.Kind == graph.GitRepository {
				return o.Message, "", "tag a commit with such a version, and push the tag"
			}
			if o.Namespace == platform.PlatformNamespace {
				return o.Message, "", "publish the platform: run " + e.Scope.Command("publish --platform")
			}
			return o.Message, "", "publish an artifact: run " + e.Scope.Command("publish --team "+o.Name) + " in the folder with the manifests"
		}},
		{"a registry offers an artifact that is not signed, or a source offers an older version", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonRolledBack && (o.Kind != graph.OCIRepository || o.Reason != "VerificationError") {
				return "", "", ""
			}
			source := o
			if applied := e.SourceOf(o); applied != nil {
				source = applied
			}
			if source.Kind == graph.GitRepository {
				return o.Message, "", "find out who has pushed it, and delete the tag, or push a higher one"
			}
			return o.Message, "", "find out who has pushed it, delete the tag in the registry, or publish a higher version with `strata publish`"
		}},
		{"a commit or tag has no signature of a publisher", func(_ *explainer, o *graph.Object) (string, string, string) {
			if o.Reason != status.ReasonNotSigned {
				return "", "", ""
			}
			return o.Message, "", "sign it with the key of a publisher, and push it again"
		}},
		{"source-controller cannot fetch a source", func(_ *explainer, o *graph.Object) (string, string, string) {
			if o.Progressing() || o.Kind != "GitRepository" && o.Kind != "OCIRepository" && o.Kind != "Bucket" {
				return "", "", ""
			}
			address := o.Text("spec", "url")
			if o.Kind == "Bucket" {
				address = "bucket " + o.Text("spec", "bucketName") + " at " + o.Text("spec", "endpoint")
			}
			if login := o.Text("spec", "secretRef", "name"); login != "" {
				return o.Message, "", "check " + address + " and the login in Secret " + login
			}
			return o.Message, "", "check " + address + ", or add spec.secretRef if the source needs a login"
		}},
		{"a Receiver does not answer", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Kind != "Receiver" {
				return "", "", ""
			}
			return o.Message, graph.PlatformTeam, "run " + e.Scope.Command("up")
		}},
	}
}

// untouched names the revision that failed, and the one that keeps running. It returns "" if both are the same.
func (e *explainer) untouched(o *graph.Object) string {
	applied, attempted := o.Text("status", "lastAppliedRevision"), o.Text("status", "lastAttemptedRevision")
	if source := e.SourceOf(o); source != nil && source.Text("status", "artifact", "revision") != "" {
		attempted = source.Text("status", "artifact", "revision")
	}
	switch applied {
	case "":
		return " (at " + graph.ShortRevision(attempted) + "; no commit was applied before)"
	case attempted:
		return ""
	}
	return fmt.Sprintf(" (at %s; %s keeps running)", graph.ShortRevision(attempted), graph.ShortRevision(applied))
}

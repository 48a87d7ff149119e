package health

import (
	"regexp"
	"strings"

	"github.com/strata-platform/strata/internal/status/graph"
)

// verified is the condition with the result of a verification (Flux, GitRepository).
const verified = "SourceVerified"

// signedObject finds the object in a message of source-controller about a signature. A tag stands there with its ID.
var signedObject = regexp.MustCompile(`(commit|tag) '([^'@]+)[^']*'`)

// unsigned says which commit or tag Flux refuses because of its signature, or returns "". The texts are those of
// source-controller v1.9.
func unsigned(o *graph.Object) string {
	found := condition(o.Content, verified)
	text := graph.At(found, "message")
	named := signedObject.FindStringSubmatch(text)
	if o.Kind != graph.GitRepository || graph.At(found, "status") != "False" || named == nil {
		return ""
	}
	what := "tag " + named[2]
	if named[1] == "commit" {
		what = "commit " + graph.ShortRevision(named[2])
	}
	switch {
	case strings.Contains(text, "not signed"), strings.HasSuffix(text, "unsupported signature type: empty"):
		what += " has no signature"
	case strings.Contains(text, "no matching key"), strings.Contains(text, "public keys found in secret"):
		what += " has a signature, but not of a publisher"
	default:
		what += " has no valid signature: " + text
	}
	return what + keeps(o)
}

// keeps names the revision that keeps running, or returns "" if there is none.
func keeps(o *graph.Object) string {
	if current := o.Text("status", "artifact", "revision"); current != "" {
		return "; " + graph.ShortRevision(current) + " keeps running"
	}
	return ""
}

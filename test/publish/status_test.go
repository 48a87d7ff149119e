package publish

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/test/long"
)

// TestAKustomizationGoesBackToNoLowerTag writes the status that kustomize-controller writes before it applies a revision.
// source-controller forgets the version that it has offered when it restarts, and kustomize-controller does not.
func TestAKustomizationGoesBackToNoLowerTag(t *testing.T) {
	long.Test(t)
	s := newSite(t)
	s.policies(t)
	const commit = "@sha1:0123456789012345678901234567890123456789"
	digest := "@sha256:" + strings.Repeat("0", 64)
	for name, test := range map[string]struct{ applied, attempted, refusal string }{
		"a higher tag":                    {"v1.9.0" + commit, "v1.10.0" + commit, ""},
		"the same tag at another commit":  {"v1.0.0" + commit, "v1.0.0@sha1:ff", ""},
		"a lower tag":                     {"v1.10.0" + commit, "v1.9.0" + commit, "rolled back: tag v1.9.0 is lower than v1.10.0, which runs"},
		"a lower tag with other letters":  {"v1.10.0" + commit, "1.9.0" + commit, "rolled back: tag 1.9.0 is lower than v1.10.0, which runs"},
		"a branch":                        {"v1.10.0" + commit, "main" + commit, ""},
		"a tag after a branch":            {"main" + commit, "v0.1.0" + commit, ""},
		"a tag after an artifact":         {"5.0.0" + digest, "v1.0.0" + commit, ""},
		"an artifact after a tag":         {"v5.0.0" + commit, "1.0.0" + digest, ""},
		"an older artifact":               {"1.1.0" + digest, "1.0.0" + digest, "rolled back: version 1.0.0 does not follow 1.1.0, which runs"},
		"a branch that is called a range": {"1.x" + commit, "0.x" + commit, ""},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
				"metadata": map[string]any{"namespace": namespace, "generateName": "tried-"},
				"spec":     map[string]any{"interval": "1m", "prune": true, "suspend": true, "sourceRef": map[string]any{"kind": "GitRepository", "name": "web"}},
			}}
			if err := s.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			write := func(field, revision string) error {
				patch := fmt.Sprintf(`{"status": {%q: %q}}`, field, revision)
				return s.Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)))
			}
			if err := write("lastAppliedRevision", test.applied); err != nil {
				t.Fatal(err)
			}
			err := write("lastAttemptedRevision", test.attempted)
			if test.refusal == "" && err != nil || test.refusal != "" && (err == nil || !strings.HasSuffix(err.Error(), test.refusal)) {
				t.Errorf("the error is %v, want %q", err, test.refusal)
			}
		})
	}
}

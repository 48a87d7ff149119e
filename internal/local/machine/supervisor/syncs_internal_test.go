package supervisor

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAGitRepositoryFollowsABranchOrTags compares the precedence of the fields with that of Flux (GitRepository, spec.ref).
func TestAGitRepositoryFollowsABranchOrTags(t *testing.T) {
	for name, test := range map[string]struct {
		ref              map[string]any
		branch, versions string
	}{
		"nothing":               {nil, "master", ""},
		"a branch":              {map[string]any{"branch": "main"}, "main", ""},
		"the name of a branch":  {map[string]any{"name": "refs/heads/live", "semver": "1.x"}, "live", ""},
		"a range":               {map[string]any{"semver": "1.x"}, "", "1.x"},
		"a range, and a branch": {map[string]any{"branch": "main", "semver": "1.x"}, "", "1.x"},
		"a range, and a tag":    {map[string]any{"tag": "v1.0.0", "semver": "1.x"}, "", "1.x"},
		"a commit, and a range": {map[string]any{"commit": "0123", "semver": "1.x"}, "", ""},
		"another name":          {map[string]any{"name": "refs/pull/1/head", "semver": "1.x"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			source := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ref": test.ref}}}
			branch, versions := branchOf(source), versionsOf(source)
			if branch != test.branch || versions != test.versions {
				t.Errorf("it follows branch %q and versions %q, want %q and %q", branch, versions, test.branch, test.versions)
			}
		})
	}
}

package applied_test

import (
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/gitserver/applied"
)

// TestAGitRepositoryFollowsABranchOrTags compares the precedence of the fields with that of Flux (GitRepository, spec.ref).
func TestAGitRepositoryFollowsABranchOrTags(t *testing.T) {
	for name, test := range map[string]struct {
		ref              map[string]string
		branch, versions string
	}{
		"nothing":               {nil, "master", ""},
		"a branch":              {map[string]string{"branch": "main"}, "main", ""},
		"the name of a branch":  {map[string]string{"name": "refs/heads/live", "semver": "1.x"}, "live", ""},
		"a range":               {map[string]string{"semver": "1.x"}, "", "1.x"},
		"a range, and a branch": {map[string]string{"branch": "main", "semver": "1.x"}, "", "1.x"},
		"a range, and a tag":    {map[string]string{"tag": "v1.0.0", "semver": "1.x"}, "", "1.x"},
		"a commit, and a range": {map[string]string{"commit": "0123", "semver": "1.x"}, "", ""},
		"another name":          {map[string]string{"name": "refs/pull/1/head", "semver": "1.x"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			branch, versions := applied.BranchOf(test.ref), applied.VersionsOf(test.ref)
			if branch != test.branch || versions != test.versions {
				t.Errorf("it follows branch %q and versions %q, want %q and %q", branch, versions, test.branch, test.versions)
			}
		})
	}
}

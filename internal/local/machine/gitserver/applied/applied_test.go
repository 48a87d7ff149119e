package applied_test

import (
	"slices"
	"testing"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/machine/gitserver/applied"
)

func TestASyncFollowsItsBranchOrTagsInItsRange(t *testing.T) {
	branch, tags := applied.Sync{Branch: "main"}, applied.Sync{Versions: "1.x"}
	for name, test := range map[string]struct {
		sync applied.Sync
		ref  string
		want bool
	}{
		"its branch":                  {branch, "refs/heads/main", true},
		"another branch":              {branch, "refs/heads/maintenance", false},
		"a tag with a branch's name":  {branch, "refs/tags/main", false},
		"a tag in the range":          {tags, "refs/tags/v1.4.0", true},
		"a tag without the letter":    {tags, "refs/tags/1.4.0", true},
		"a tag outside of the range":  {tags, "refs/tags/v2.0.0", false},
		"a tag with two numbers":      {tags, "refs/tags/v1.4", false},
		"a tag before a version":      {tags, "refs/tags/v1.4.0-rc.1", false},
		"a tag that is no version":    {tags, "refs/tags/a.b.c", false},
		"a branch with a tag's name":  {tags, "refs/heads/v1.4.0", false},
		"another reference":           {tags, "refs/notes/v1.4.0", false},
		"a sync that follows nothing": {applied.Sync{}, "refs/tags/v1.4.0", false},
		"a range that is none":        {applied.Sync{Versions: "newest"}, "refs/tags/v1.4.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.sync.Follows(test.ref); got != test.want {
				t.Errorf("it follows %s: %v, want %v", test.ref, got, test.want)
			}
		})
	}
}

func TestFoldersAreThoseOfTheSyncsThatFollow(t *testing.T) {
	syncs := []applied.Sync{
		{Branch: "main", Spec: trial.Sync{"path": "./infra"}}, {Branch: "main", Spec: trial.Sync{"path": "app"}},
		{Branch: "main", Spec: trial.Sync{}}, {Branch: "live", Spec: trial.Sync{"path": "./live"}}, {Branch: "main", Spec: trial.Sync{"path": "../infra"}},
	}
	if got, want := applied.Folders(syncs, "refs/heads/main"), []string{"./", "./app", "./infra"}; !slices.Equal(got, want) {
		t.Errorf("the folders are %q, want %q", got, want)
	}
}

func TestRefusalsAreThoseOfTheSyncs(t *testing.T) {
	both := []applied.Sync{{Branch: "main"}, {Versions: "1.x"}}
	for name, test := range map[string]struct {
		ref     string
		deletes bool
		want    []string
		found   bool
	}{
		"an applied branch":      {"refs/heads/main", false, nil, false},
		"another branch":         {"refs/heads/x", false, []string{"branch x is not applied: Flux applies branch main and the highest tag in the range 1.x; to apply the commit, push a tag in that range"}, true},
		"another branch deleted": {"refs/heads/x", true, nil, true},
		"a tag deleted":          {"refs/tags/v1.4.0", true, []string{"tag v1.4.0 is deleted: Flux goes back to no lower tag, and keeps the objects of the last one"}, true},
		"the branch deleted":     {"refs/heads/main", true, []string{"branch main is deleted: Flux applies it, keeps the objects of its last commit, and fails until the branch exists again"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := applied.Refusal(both, test.ref, test.deletes)
			if found != test.found || !slices.Equal(got, test.want) {
				t.Errorf("the refusal is %q, %v, want %q, %v", got, found, test.want, test.found)
			}
		})
	}
}

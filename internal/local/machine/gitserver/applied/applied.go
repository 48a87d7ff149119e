// Package applied says what Flux applies of the branches and tags of a repository.
package applied

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/strata-platform/strata/internal/lint/trial"
)

// Sync is a Kustomization that builds a repository.
type Sync struct {
	// Branch is the branch that Flux applies; empty if its source follows tags or a commit.
	Branch string
	// Versions is the range of tags that Flux applies the highest of; empty if its source follows none.
	Versions string
	// Planned says that the Kustomization does not exist yet.
	Planned bool
	// Namespace, Name and Source identify the Kustomization and its source, and Account is the account that it applies as, for
	// plans. They are empty for a Kustomization whose commits cannot be planned.
	Namespace, Name, Source, Account string
	// Spec is the spec of the Kustomization.
	Spec trial.Sync
}

// CanPlan reports whether the operator can plan commits for the Kustomization.
func (s Sync) CanPlan() bool { return s.Account != "" && !s.Planned }

// Follows reports whether Flux can apply the commit of a reference, such as refs/heads/main: of its branch, or of a tag in its
// range.
func (s Sync) Follows(ref string) bool {
	if branch := Branch(ref); branch != "" {
		return s.Branch == branch
	}
	tag, isTag := strings.CutPrefix(ref, "refs/tags/")
	if !isTag || s.Versions == "" {
		return false
	}
	in, err := semver.NewConstraint(s.Versions)
	if err != nil {
		return false
	}
	// Flux ignores tags with fewer than three numbers.
	version, err := semver.NewVersion(tag)
	return err == nil && strings.Count(tag, ".") >= 2 && in.Check(version)
}

// Branch returns the branch of a reference, or "" for a tag or another reference.
func Branch(ref string) string {
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

// Folders returns the folders of the repository that Flux applies of a reference, sorted, such as "./".
func Folders(syncs []Sync, ref string) []string {
	var folders []string
	for _, sync := range syncs {
		if sync.Follows(ref) {
			folder, _ := sync.Spec["path"].(string)
			folders = append(folders, "."+path.Join("/", folder))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// Refusal says why Flux applies nothing of an update of a reference, or what the deletion of the reference does. It returns no
// lines for an update that Flux applies, with found set to false.
func Refusal(syncs []Sync, ref string, deletes bool) (lines []string, found bool) {
	branch := Branch(ref)
	name := "branch " + branch
	if branch == "" {
		name = strings.TrimPrefix(ref, "refs/")
	}
	followed, how := followed(syncs)
	switch applies := len(Folders(syncs, ref)) > 0; {
	case applies && !deletes:
		return nil, false
	case applies && branch == "":
		return []string{fmt.Sprintf("tag %s is deleted: Flux goes back to no lower tag, and keeps the objects of the last one", strings.TrimPrefix(name, "tags/"))}, true
	case applies:
		return []string{fmt.Sprintf("branch %s is deleted: Flux applies it, keeps the objects of its last commit, and fails until the branch exists again", branch)}, true
	case followed == "":
		return []string{fmt.Sprintf("%s is not applied: Flux applies no branch of this repository", name)}, true
	case deletes:
		return nil, true
	}
	return []string{fmt.Sprintf("%s is not applied: Flux applies %s; to apply the commit, push %s", name, followed, how)}, true
}

// followed returns what Flux applies of the repository, in words, and what to push.
func followed(syncs []Sync) (what, how string) {
	var branches, ranges []string
	for _, sync := range syncs {
		if sync.Branch != "" && !slices.Contains(branches, sync.Branch) {
			branches = append(branches, sync.Branch)
		}
		if sync.Versions != "" && !slices.Contains(ranges, sync.Versions) {
			ranges = append(ranges, sync.Versions)
		}
	}
	var all []string
	if len(branches) > 0 {
		all, how = append(all, "branch "+strings.Join(branches, ", ")), "it to that branch"
	}
	if len(ranges) > 0 {
		all, how = append(all, "the highest tag in the range "+strings.Join(ranges, ", ")), "a tag in that range"
	}
	return strings.Join(all, " and "), how
}

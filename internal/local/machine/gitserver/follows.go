package gitserver

import (
	"strings"

	"github.com/Masterminds/semver/v3"
)

// follows reports whether Flux can apply the commit of a reference: of its branch, or of a tag in its range.
func (s Sync) follows(ref string) bool {
	if branch := branchOf(ref); branch != "" {
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

// followed returns what Flux applies of the repository, in words.
func (f findings) followed() []string {
	var all []string
	seen := map[string]bool{}
	for _, sync := range f.syncs {
		what := ""
		switch {
		case sync.Branch != "":
			what = "branch " + sync.Branch
		case sync.Versions != "":
			what = "the highest tag in the range " + sync.Versions
		}
		if what != "" && !seen[what] {
			seen[what] = true
			all = append(all, what)
		}
	}
	return all
}

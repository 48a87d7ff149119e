package applied

import "strings"

// BranchOf returns the branch that a GitRepository with a field spec.ref follows, or "" if it follows a tag or a commit. A name and a commit
// take precedence over a branch, and without any of them Flux follows the branch master (Flux, GitRepository, spec.ref).
func BranchOf(ref map[string]string) string {
	branch, named := strings.CutPrefix(ref["name"], "refs/heads/")
	switch {
	case named:
		return branch
	case ref["name"] != "" || ref["commit"] != "" || ref["semver"] != "" || ref["tag"] != "":
		return ""
	case ref["branch"] == "":
		return "master"
	}
	return ref["branch"]
}

// VersionsOf returns the range of tags that a GitRepository with a field spec.ref follows, or "". A name and a commit take precedence over a
// range.
func VersionsOf(ref map[string]string) string {
	if ref["name"] != "" || ref["commit"] != "" {
		return ""
	}
	return ref["semver"]
}

package lint

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// repository matches the start of every address that kustomize reads as a Git repository
// (api/internal/git/repospec.go): a scheme, optionally after "git::", GitHub's name, or the user in Git's own form
// USER@HOST:PATH.
var repository = regexp.MustCompile(`(?i)^(git::)*(ssh://|https?://|file://|github\.com[/:]|[a-z][a-z0-9-]*@)`)

// isRemote reports whether kustomize reads a value as an address at any place. kustomize fetches a file by HTTP if the
// value parses as a URL with the scheme http or https. URLs have few rules: "http:x" is one.
func isRemote(value string) bool {
	if repository.MatchString(value) {
		return true
	}
	if scheme, _, found := strings.Cut(value, ":"); found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		return true
	}
	parsed, err := url.Parse(value)
	return err == nil && parsed.Scheme != "" && parsed.Host != ""
}

// locate returns the path of a kustomization file's value relative to the repository's root, or the reason to reject
// the value.
func locate(file, value string) (target, reason string) {
	target = path.Join(path.Dir(file), value)
	const nothingElse = "; a build reads the files of its repository and nothing else"
	switch {
	case isRemote(value):
		return "", fmt.Sprintf("is the address %q", short(value)) + nothingElse
	case path.IsAbs(value):
		return "", fmt.Sprintf("is the absolute path %q", short(value)) + nothingElse
	case outside(target):
		return "", fmt.Sprintf("is the path %q, which leads out of the repository", short(value))
	}
	return target, ""
}

// place checks one place of a kustomization file.
func (c *checker) place(file string, p place) error {
	switch {
	case p.takes == aChart:
		c.report(file, p.field, "is %s; builds by Flux run no Helm: write a HelmRelease", p.value)
	case p.takes == aPatch && isText(p.value) && !isRemote(p.value):
	case p.takes == plugins:
		return c.plugins(file, p.field, p.value)
	default:
		if _, reason := locate(file, p.value); reason != "" {
			c.report(file, p.field, "%s", reason)
		}
	}
	return nil
}

// isText reports whether a value is inline YAML that kustomize cannot read as a path in the repository.
func isText(value string) bool {
	return strings.Contains(value, "\n") || strings.HasPrefix(strings.TrimSpace(value), "{")
}

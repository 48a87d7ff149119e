package teams

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// Kinds of a team's source.
const (
	// SourceGit is the team's Git repository.
	SourceGit = "git"
	// SourceOCI is the team's artifacts in a registry, which `strata publish` signs.
	SourceOCI = "oci"
)

// DefaultVersions is the range of versions of a team's artifacts when the file names none: all of them.
const DefaultVersions = ">=0.0.0"

// ArtifactRepository returns the name of the repository of the team's artifacts in a registry.
func (t Team) ArtifactRepository() string { return t.Namespace() + "/deploy" }

// Artifacts reports whether Flux applies artifacts from a registry, and not the team's Git repository.
func (t Team) Artifacts() bool { return t.Source == SourceOCI }

// sourceProblems returns the problems of the fields that describe the team's source.
func (t Team) sourceProblems(at string) []error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(at+format, args...)) }
	if t.Source != "" && t.Source != SourceGit && t.Source != SourceOCI {
		refuse(".source %q must be %s or %s", t.Source, SourceGit, SourceOCI)
	}
	if !t.Artifacts() {
		if t.Versions != "" || len(t.Publishers) > 0 {
			refuse(" has versions or publishers, which need source: %s", SourceOCI)
		}
		return problems
	}
	if t.Branch != "" {
		refuse(".branch is for source: %s: Flux applies the highest version of the artifacts", SourceGit)
	}
	if _, err := semver.NewConstraint(t.Versions); t.Versions != "" && err != nil {
		refuse(".versions %q is not a range of versions, such as 1.x or >=1.4.0", t.Versions)
	}
	for i, text := range t.Publishers {
		if !isPublicKey(text) {
			refuse(".publishers[%d] is not a public key in PEM, as `cosign public-key` and `openssl pkey -pubout` print it", i)
		}
	}
	return problems
}

// isPublicKey reports whether a text is one public key in PEM and nothing else.
func isPublicKey(text string) bool {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "PUBLIC KEY" || len(rest) > 0 {
		return false
	}
	_, err := x509.ParsePKIXPublicKey(block.Bytes)
	return err == nil
}

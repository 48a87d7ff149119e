package teams

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

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

// Tags reports whether Flux applies the highest tag in a range of the team's Git repository, and not a branch.
func (t Team) Tags() bool { return !t.Artifacts() && t.Versions != "" }

// Values of Team.Verify, which are those of Flux.
const (
	// VerifyHead demands a signature of the commit.
	VerifyHead = "HEAD"
	// VerifyTag demands a signature of the tag.
	VerifyTag = "Tag"
	// VerifyTagAndHead demands a signature of the tag, and one of its commit.
	VerifyTagAndHead = "TagAndHEAD"
)

// sourceProblems returns the problems of the fields that describe the team's source.
func (t Team) sourceProblems(at string) []error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(at+format, args...)) }
	if t.Source != "" && !slices.Contains([]string{SourceGit, SourceOCI, SourceBucket}, t.Source) {
		refuse(".source %q must be %s, %s or %s", t.Source, SourceGit, SourceOCI, SourceBucket)
	}
	if t.Bucket != nil && !t.Objects() {
		refuse(".bucket needs source: %s", SourceBucket)
	}
	if _, err := semver.NewConstraint(t.Versions); t.Versions != "" && err != nil {
		refuse(".versions %q is not a range of versions, such as 1.x or >=1.4.0", t.Versions)
	}
	problems = append(problems, t.identityProblems(at)...)
	switch {
	case t.Artifacts():
		return append(problems, t.artifactProblems(at)...)
	case t.Objects():
		return append(problems, t.bucketProblems(at)...)
	}
	return append(problems, t.repositoryProblems(at)...)
}

// Identity is the identity in a signature without a key, such as that of a job in continuous integration.
type Identity struct {
	// Issuer is the address of the issuer of the job's tokens, such as https://token.actions.githubusercontent.com. Required.
	Issuer string `json:"issuer"`
	// Subject is the whole subject of the certificate, such as the address of a workflow at a branch. Required.
	Subject string `json:"subject"`
}

// identityProblems returns the problems of the field identity.
func (t Team) identityProblems(at string) []error {
	if t.Identity == nil {
		return nil
	}
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(at+format, args...)) }
	if !t.Artifacts() {
		refuse(".identity needs source: %s", SourceOCI)
	}
	if len(t.Publishers) > 0 {
		refuse(" has identity and publishers: an artifact is signed by an identity or by a key: remove one of them")
	}
	for _, field := range []struct{ name, value string }{{"issuer", t.Identity.Issuer}, {"subject", t.Identity.Subject}} {
		if field.value == "" || len(field.value) > longestIdentity || strings.ContainsFunc(field.value, unicode.IsSpace) {
			refuse(".identity.%s %q is not the text in a certificate, without spaces and of at most %d characters", field.name, field.value, longestIdentity)
		}
	}
	if !strings.HasPrefix(t.Identity.Issuer, "https://") {
		refuse(".identity.issuer %q does not begin with https://", t.Identity.Issuer)
	}
	return problems
}

// longestIdentity bounds the fields of an identity, so that their patterns fit into a TenantPolicy.
const longestIdentity = 240

func (t Team) artifactProblems(at string) []error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(at+format, args...)) }
	if t.Branch != "" {
		refuse(".branch is for source: %s: Flux applies the highest version of the artifacts", SourceGit)
	}
	if t.Verify != "" || t.RecurseSubmodules {
		refuse(" has verify or recurseSubmodules, which need source: %s: Flux always verifies artifacts, and they have no submodules", SourceGit)
	}
	for i, text := range t.Publishers {
		if KeySuffix(text) != cosignKey {
			refuse(".publishers[%d] is not a public key in PEM, as `cosign public-key` and `openssl pkey -pubout` print it", i)
		}
	}
	return problems
}

func (t Team) repositoryProblems(at string) []error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(at+format, args...)) }
	if t.Branch != "" && t.Versions != "" {
		refuse(" has branch and versions: Flux applies the branch, or the highest tag in the range: remove one of them")
	}
	modes := []string{VerifyHead, VerifyTag, VerifyTagAndHead}
	switch {
	case t.Verify != "" && !slices.Contains(modes, t.Verify):
		refuse(".verify %q must be %s", t.Verify, strings.Join(modes, ", "))
	case t.Verify == VerifyHead && t.Versions != "":
		// Such a tag needs no signature, so anybody who can push could give an older commit a higher version.
		refuse(".verify %s does not check the tags in versions: set it to %s or %s", t.Verify, VerifyTag, VerifyTagAndHead)
	case t.Verify != "" && t.Verify != VerifyHead && t.Versions == "":
		refuse(".verify %s needs versions, the range of the tags: to check the commits of a branch, set it to %s", t.Verify, VerifyHead)
	}
	if (t.Verify == "") != (len(t.Publishers) == 0) {
		refuse(" has only one of verify and publishers: verify demands signatures, and publishers lists the keys that Flux trusts")
	}
	if t.RecurseSubmodules && t.Versions != "" {
		// source-controller v1.9 fetches them for the default branch, before it checks out the tag. test/publish shows it.
		refuse(" has recurseSubmodules and versions: Flux would apply the submodules of the default branch, and not those of the tag: follow a branch")
	}
	for i, text := range t.Publishers {
		if suffix := KeySuffix(text); suffix != openPGPKey && suffix != sshKey {
			refuse(".publishers[%d] is neither a public key of OpenPGP, as `gpg --armor --export` prints it, nor one of SSH, such as ssh-ed25519 AAAA", i)
		}
	}
	return problems
}

package hop

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// PublisherSecret is the name of the Secret with the public keys of a team's publishers, in the team's namespace. The policies
// strata-artifacts and strata-sources make the team's sources name it.
const PublisherSecret = "strata-publisher"

// Verification makes Flux refuse commits or tags of a team's repository without the signature of a publisher.
type Verification struct {
	// Mode is fluxcd.VerifyCommit, or with Source.Versions fluxcd.VerifyTag or fluxcd.VerifyTagAndCommit. Required.
	Mode string
	// Keys are the public keys of the publishers: keys of OpenPGP by names that end in .asc, keys of SSH by names that end in
	// .sshpub. At least one is required.
	Keys map[string]string
}

// origin returns the origin of the team's source, and creates the Secret with the keys of its publishers.
func (b *builder) origin() (fluxcd.Origin, error) {
	source := b.args.Source
	if source.Artifact != nil {
		return source.Artifact.origin(b)
	}
	git := fluxcd.Git{
		URL: source.URL, Branch: source.Branch, Commit: source.Commit, SemVer: source.Versions,
		Username: source.Username, Password: source.Password,
		SparseCheckout: source.Folders, RecurseSubmodules: source.RecurseSubmodules,
	}
	if source.Verify == nil {
		return git, nil
	}
	secret, err := b.publishers(source.Verify.Keys)
	git.Verify = &fluxcd.GitVerification{Mode: source.Verify.Mode, SecretName: secret}
	return git, err
}

// publishers creates the Secret with the public keys of the publishers and returns its name.
func (b *builder) publishers(keys map[string]string) (pulumi.StringInput, error) {
	// The API server merges stringData into the data that is there, so a key that has been removed from stringData would stay
	// trusted.
	data := pulumi.StringMap{}
	for name, key := range keys {
		data[name] = pulumi.String(base64.StdEncoding.EncodeToString([]byte(key)))
	}
	_, err := corev1.NewSecret(b.ctx, b.name+"-publisher", &corev1.SecretArgs{Metadata: b.metadata(PublisherSecret), Data: data}, b.inside()...)
	return pulumi.String(PublisherSecret), err
}

// problems returns the problems of the fields that select what Flux applies.
func (s Source) problems() []string {
	var problems []string
	if inputs.Missing(s.Username) != inputs.Missing(s.Password) {
		problems = append(problems, "the source's username and password must be given together")
	}
	switch tags := !inputs.Missing(s.Versions); {
	case tags == !inputs.Missing(s.Branch):
		problems = append(problems, "either the source's branch or its versions must be given")
	case tags && s.RecurseSubmodules:
		problems = append(problems, "the source's submodules need a branch: with versions, Flux fetches those of the default branch")
	case s.Verify != nil && tags == (s.Verify.Mode == fluxcd.VerifyCommit):
		problems = append(problems, fmt.Sprintf("the source's mode of verification %s does not fit: a branch needs %s, versions need %s or %s",
			s.Verify.Mode, fluxcd.VerifyCommit, fluxcd.VerifyTag, fluxcd.VerifyTagAndCommit))
	}
	if s.Verify != nil {
		if len(s.Verify.Keys) == 0 {
			problems = append(problems, "the source's keys must be given: without one, Flux would apply nothing")
		}
		problems = append(problems, keyProblems("a source's key", s.Verify.Keys, ".asc", ".sshpub")...)
		if s.Artifact != nil {
			problems = append(problems, "the source has an artifact, so it cannot verify a repository")
		}
	}
	return append(problems, s.Artifact.problems()...)
}

// keyProblems returns the problems of the names of public keys.
func keyProblems(what string, keys map[string]string, suffixes ...string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if !slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) {
			problems = append(problems, fmt.Sprintf("the name %q of %s does not end in %s", name, what, strings.Join(suffixes, " or ")))
		}
	}
	return problems
}

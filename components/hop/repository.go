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

// Source is a team's repository.
type Source struct {
	// URL is the repository's address. Required.
	URL pulumi.StringInput
	// Branch is the branch that Flux applies. Required, unless Versions is given.
	Branch pulumi.StringInput
	// Versions is the range of tags that Flux applies the highest of. It excludes Branch.
	Versions pulumi.StringInput
	// Verify demands signatures of the repository's commits or tags; nil means none.
	Verify *Verification
	// RecurseSubmodules also fetches the repository's submodules. It excludes Versions.
	RecurseSubmodules bool
	// Commit is the commit of Branch that Flux applies; nil means the latest.
	Commit pulumi.StringInput
	// Artifact makes Flux apply signed artifacts from a registry instead of the repository; nil means the repository.
	Artifact *Artifact
	// Bucket makes Flux apply the objects of a bucket instead of the repository; nil means the repository. Flux verifies no signatures of
	// them, so Bucket excludes Verify and Artifact.
	Bucket *fluxcd.Bucket
	// Path is the folder that Flux applies. Required.
	Path pulumi.StringInput
	// Folders are the folders of the repository that Flux fetches; none means all.
	Folders []string
	// Interval is the polling interval of the repository; nil means every minute.
	Interval pulumi.StringInput
	// Username and Password are credentials that read a private repository; both are nil for a public repository. Pulumi
	// keeps Password as a secret. Both end up in the team's namespace, where the team can read them: never give
	// credentials that may write to another repository.
	Username, Password pulumi.StringInput
	// Webhook creates a Receiver, at which the Git server reports a push. Flux's notification-controller must be
	// installed.
	Webhook bool
}

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
	if source.Bucket != nil {
		return *source.Bucket, nil
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
	return pulumi.String(PublisherSecret), b.public("publisher", PublisherSecret, keys)
}

// public creates a Secret of the hop with content that everybody may know, but that only the platform may choose.
func (b *builder) public(part, name string, content map[string]string) error {
	// The API server merges stringData into the data that is there, so a key that has been removed from stringData would stay
	// trusted.
	data := pulumi.StringMap{}
	for key, value := range content {
		data[key] = pulumi.String(base64.StdEncoding.EncodeToString([]byte(value)))
	}
	_, err := corev1.NewSecret(b.ctx, b.name+"-"+part, &corev1.SecretArgs{Metadata: b.metadata(name), Data: data}, b.inside()...)
	return err
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
	if s.Bucket != nil && (s.Verify != nil || s.Artifact != nil) {
		problems = append(problems, "the source has a bucket, so it can have neither a verification nor an artifact: Flux verifies no signatures of a bucket")
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

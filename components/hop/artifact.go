package hop

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// Artifact is a repository of signed artifacts in a registry.
type Artifact struct {
	// URL is the repository's address, such as oci://registry.example.com/team-web/deploy. Required.
	URL pulumi.StringInput
	// Versions is the range of versions that Flux applies the highest of. Required.
	Versions pulumi.StringInput
	// Keys are the public keys of the publishers in PEM, by names that end in .pub. At least one is required: Flux refuses an
	// artifact without the signature of one of them.
	Keys map[string]string
	// Username and Password are credentials that read the repository; both are nil for a public repository. The team can
	// read them.
	Username, Password pulumi.StringInput
	// Insecure uses HTTP instead of HTTPS.
	Insecure bool
}

// origin creates the Secret with the public keys and returns the origin of the team's source.
func (a *Artifact) origin(b *builder) (fluxcd.Origin, error) {
	secret, err := b.publishers(a.Keys)
	if err != nil {
		return nil, err
	}
	return fluxcd.OCI{
		URL: a.URL, SemVer: a.Versions, Username: a.Username, Password: a.Password, Insecure: a.Insecure,
		Verify: &fluxcd.OCIVerification{SecretName: secret},
	}, nil
}

// problems returns the problems of an artifact's fields.
func (a *Artifact) problems() []string {
	if a == nil {
		return nil
	}
	var problems []string
	if inputs.Missing(a.URL) || inputs.Missing(a.Versions) {
		problems = append(problems, "the artifact's URL and versions must be given")
	}
	if len(a.Keys) == 0 {
		problems = append(problems, "the artifact's keys must be given: without one, Flux would apply what anybody has pushed")
	}
	problems = append(problems, keyProblems("an artifact's key", a.Keys, ".pub")...)
	if inputs.Missing(a.Username) != inputs.Missing(a.Password) {
		problems = append(problems, "the artifact's username and password must be given together")
	}
	return problems
}

// addresses returns the addresses of the team's own sources.
func (s Source) addresses() pulumi.StringArray {
	if s.Artifact == nil {
		return pulumi.StringArray{s.URL}
	}
	return pulumi.StringArray{s.URL, s.Artifact.URL}
}

package hop

import (
	"regexp"

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
	// Keys are the public keys of the publishers in PEM, by names that end in .pub. At least one is required without Identity: Flux
	// refuses an artifact without the signature of one of them.
	Keys map[string]string
	// Identity is the publisher's identity, in place of Keys; nil means none.
	Identity *Identity
	// Username and Password are credentials that read the repository; both are nil for a public repository. The team can
	// read them.
	Username, Password pulumi.StringInput
	// Insecure uses HTTP instead of HTTPS.
	Insecure bool
}

// Identity is the identity in signatures without a key.
type Identity struct {
	// Issuer and Subject are the whole texts in the certificate. Both are required.
	Issuer, Subject string
	// TrustedRoot is the trusted_root.json of a private Sigstore; empty means the public one.
	TrustedRoot string
}

// TrustedRootSecret is the name of the Secret with the trusted_root.json of a private Sigstore, in the team's namespace.
const TrustedRootSecret = "strata-trusted-root"

// patterns returns the regular expressions that match the identity and no other.
func (i *Identity) patterns() fluxcd.OIDCIdentity {
	return fluxcd.OIDCIdentity{Issuer: "^" + regexp.QuoteMeta(i.Issuer) + "$", Subject: "^" + regexp.QuoteMeta(i.Subject) + "$"}
}

// policy returns what the team's sources must verify.
func (i *Identity) policy() pulumi.Map {
	only := i.patterns()
	spec := pulumi.Map{"issuer": pulumi.String(only.Issuer), "subject": pulumi.String(only.Subject)}
	if i.TrustedRoot != "" {
		spec["trustedRoot"] = pulumi.String(TrustedRootSecret)
	}
	return spec
}

// verification creates the Secret with the keys or with the trusted root.
func (a *Artifact) verification(b *builder) (*fluxcd.OCIVerification, error) {
	if a.Identity == nil {
		secret, err := b.publishers(a.Keys)
		return &fluxcd.OCIVerification{SecretName: secret}, err
	}
	verify := &fluxcd.OCIVerification{Identities: []fluxcd.OIDCIdentity{a.Identity.patterns()}}
	if a.Identity.TrustedRoot == "" {
		return verify, nil
	}
	verify.TrustedRootSecret = pulumi.String(TrustedRootSecret)
	return verify, b.public("trusted-root", TrustedRootSecret, map[string]string{"trusted_root.json": a.Identity.TrustedRoot})
}

// origin creates the Secret with the public keys and returns the origin of the team's source.
func (a *Artifact) origin(b *builder) (fluxcd.Origin, error) {
	verify, err := a.verification(b)
	if err != nil {
		return nil, err
	}
	return fluxcd.OCI{
		URL: a.URL, SemVer: a.Versions, Username: a.Username, Password: a.Password, Insecure: a.Insecure,
		Verify: verify,
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
	if a.Identity != nil && (a.Identity.Issuer == "" || a.Identity.Subject == "" || len(a.Keys) > 0) {
		problems = append(problems, "the artifact's identity must have an issuer and a subject, and excludes keys")
	}
	if len(a.Keys) == 0 && a.Identity == nil {
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
	switch {
	case s.Artifact != nil:
		return pulumi.StringArray{s.URL, s.Artifact.URL}
	case s.Bucket != nil:
		// The form of the policy strata-sources.
		return pulumi.StringArray{s.URL, pulumi.Sprintf("https://%s/%s", s.Bucket.Endpoint, s.Bucket.Name)}
	}
	return pulumi.StringArray{s.URL}
}

package fluxcd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
)

const ociKind = "OCIRepository"

// OCI is an artifact in a container registry, an Origin of a Source.
type OCI struct {
	// URL is the URL of the artifact, with the scheme "oci://" and without a tag. Required.
	URL pulumi.StringInput
	// Set at most one of Tag, SemVer (a range of tags) and Digest; none means the tag "latest".
	Tag, SemVer, Digest pulumi.StringInput
	// MediaType is the media type of the layer to extract; nil means the first layer.
	MediaType pulumi.StringInput

	// At most one of the following ways to log in. Without any, the artifact must be public.

	// Username and Password log in at the registry. They become a Secret in the source's namespace, so the namespace's
	// owner can read them.
	Username, Password pulumi.StringInput
	// SecretName names an existing Secret of type kubernetes.io/dockerconfigjson.
	SecretName pulumi.StringInput
	// Provider is the cloud whose workload identity logs in: aws, azure or gcp.
	Provider string

	// ServiceAccount is the account in Namespace whose pull secrets Flux uses, or with a Provider, whose workload
	// identity.
	ServiceAccount pulumi.StringInput
	// TLS configures TLS of the registry.
	TLS *TLS
	// Insecure uses HTTP instead of HTTPS.
	Insecure bool
	// Verify makes Flux refuse an artifact without the signature of a trusted key or identity.
	Verify *OCIVerification
}

// Verification tools of OCIVerification.
const (
	// Cosign is Sigstore's tool, which verifies signatures with or without keys.
	Cosign = "cosign"
	// Notation is the tool of the Notary project.
	Notation = "notation"
)

// OCIVerification says whose signatures Flux trusts.
type OCIVerification struct {
	// Provider is Cosign (the default) or Notation.
	Provider string
	// Keys are the trusted keys by file name: public keys of cosign in NAME.pub; certificates of notation in NAME.crt or
	// NAME.pem, with trustpolicy.json. They become a Secret in the source's namespace.
	Keys map[string]pulumi.StringInput
	// SecretName names an existing Secret with such keys. It excludes Keys.
	SecretName pulumi.StringInput
	// Identities are the trusted identities of keyless signatures of cosign. They exclude Keys and SecretName.
	Identities []OIDCIdentity
	// TrustedRootSecret names a Secret with the trusted_root.json of a private Sigstore. It requires Identities.
	TrustedRootSecret pulumi.StringInput
}

// OIDCIdentity matches the identity of a keyless signature.
type OIDCIdentity struct {
	// Issuer and Subject are regular expressions that match those of the certificate. Both are required. Anchor them with
	// ^ and $.
	Issuer, Subject string
}

func (OCI) kind() string { return ociKind }

func (o OCI) address() pulumi.StringInput { return o.URL }

func (o OCI) fill(b *sourceBuilder) error {
	b.spec["url"] = o.URL
	ref := pulumi.Map{}
	put(ref, "tag", o.Tag)
	put(ref, "semver", o.SemVer)
	put(ref, "digest", o.Digest)
	if len(ref) > 0 {
		b.spec["ref"] = ref
	}
	if !inputs.Missing(o.MediaType) {
		b.spec["layerSelector"] = pulumi.Map{"mediaType": o.MediaType, "operation": pulumi.String("extract")}
	}
	b.spec["provider"] = pulumi.String(provider(o.Provider))
	if o.Insecure {
		b.spec["insecure"] = pulumi.Bool(true)
	}
	put(b.spec, "serviceAccountName", o.ServiceAccount)
	reference(b.spec, "secretRef", o.SecretName)
	if !inputs.Missing(o.Password) {
		login := map[string]pulumi.StringInput{".dockerconfigjson": dockerLogin(o.URL, o.Username, o.Password)}
		if err := b.secret(b.spec, "secretRef", credentialsSuffix, dockerConfig, login); err != nil {
			return err
		}
	}
	if o.TLS != nil {
		if err := b.secret(b.spec, "certSecretRef", tlsSuffix, opaque, o.TLS.data()); err != nil {
			return err
		}
	}
	return o.Verify.fill(b)
}

func (v *OCIVerification) fill(b *sourceBuilder) error {
	if v == nil {
		return nil
	}
	verify := pulumi.Map{"provider": pulumi.String(v.provider())}
	b.spec["verify"] = verify
	reference(verify, "secretRef", v.SecretName)
	reference(verify, "trustedRootSecretRef", v.TrustedRootSecret)
	if len(v.Identities) > 0 {
		matches := make(pulumi.Array, len(v.Identities))
		for i, id := range v.Identities {
			matches[i] = pulumi.Map{"issuer": pulumi.String(id.Issuer), "subject": pulumi.String(id.Subject)}
		}
		verify["matchOIDCIdentity"] = matches
	}
	if len(v.Keys) == 0 {
		return nil
	}
	return b.secret(verify, "secretRef", keysSuffix, opaque, v.Keys)
}

func (v *OCIVerification) provider() string {
	if v.Provider == "" {
		return Cosign
	}
	return v.Provider
}

func (o OCI) check() []string {
	var p problems
	p.refuse(inputs.Missing(o.URL), "OCI.URL must be given")
	p.refuse(count(o.Tag, o.SemVer, o.Digest) > 1, "only one of OCI.Tag, OCI.SemVer and OCI.Digest may be given")
	p = append(p, together("OCI.Username and OCI.Password", o.Username, o.Password)...)
	p.refuse(!slices.Contains([]string{"generic", "aws", "azure", "gcp"}, provider(o.Provider)), "OCI.Provider must be aws, azure or gcp")
	p.refuse(count(o.Password, o.SecretName) > 1 || provider(o.Provider) != "generic" && count(o.Password, o.SecretName) > 0,
		"only one of OCI.Password, OCI.SecretName and OCI.Provider may be given")
	p.refuse(o.Insecure && o.TLS != nil, "OCI.Insecure excludes OCI.TLS")
	p = append(p, o.TLS.check()...)
	return append(p, o.Verify.check()...)
}

func (v *OCIVerification) check() []string {
	if v == nil {
		return nil
	}
	var p problems
	given := 0
	for _, is := range []bool{len(v.Keys) > 0, !inputs.Missing(v.SecretName), len(v.Identities) > 0} {
		if is {
			given++
		}
	}
	// Without any of them, cosign would accept a signature of anybody with an account at the public Sigstore.
	p.refuse(given != 1, "one of OCI.Verify.Keys, OCI.Verify.SecretName and OCI.Verify.Identities must be given")
	p.refuse(slices.ContainsFunc(v.Identities, func(id OIDCIdentity) bool { return id.Issuer == "" || id.Subject == "" }),
		"OCI.Verify.Identities must each have an Issuer and a Subject")
	p.refuse(!inputs.Missing(v.TrustedRootSecret) && len(v.Identities) == 0, "OCI.Verify.TrustedRootSecret needs OCI.Verify.Identities")
	switch v.provider() {
	case Cosign:
		return append(p, keysProblem("OCI.Verify.Keys", v.Keys, ".pub")...)
	case Notation:
		p.refuse(len(v.Identities) > 0, "OCI.Verify.Identities are for "+Cosign)
		p.refuse(len(v.Keys) > 0 && inputs.Missing(v.Keys["trustpolicy.json"]), "OCI.Verify.Keys must have the trustpolicy.json of "+Notation)
		return append(p, keysProblem("OCI.Verify.Keys", v.Keys, ".crt", ".pem", ".json")...)
	}
	return append(p, "OCI.Verify.Provider must be "+Cosign+" or "+Notation)
}

// dockerLogin returns the content of a Secret with the credentials of one registry.
func dockerLogin(url, username, password pulumi.StringInput) pulumi.StringInput {
	return pulumi.All(url, username, pulumi.ToSecret(password.ToStringOutput())).ApplyT(func(args []any) (string, error) {
		host, _, _ := strings.Cut(strings.TrimPrefix(args[0].(string), "oci://"), "/")
		if host == "" {
			return "", fmt.Errorf("the URL %q of the source contains no registry: give oci://REGISTRY/REPOSITORY", args[0])
		}
		raw, err := json.Marshal(map[string]any{"auths": map[string]any{
			host: map[string]string{"username": args[1].(string), "password": args[2].(string)},
		}})
		return string(raw), err
	}).(pulumi.StringOutput)
}

// provider returns Flux's name for the cloud of a source.
func provider(name string) string {
	if name == "" {
		return "generic"
	}
	return name
}

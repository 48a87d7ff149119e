package fluxcd

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
)

const bucketKind = "Bucket"

// Bucket is an object storage bucket, an Origin of a Source. Flux verifies no signatures of a bucket's objects. Use OCI
// to have signatures verified.
type Bucket struct {
	// Name is the bucket's name. Endpoint is the host of its storage service, without a scheme. Both are required.
	Name, Endpoint pulumi.StringInput
	// Provider is aws, azure or gcp; empty means any service that speaks the S3 protocol.
	Provider string
	// Region is the bucket's region. Set it where the endpoint does not imply it.
	Region pulumi.StringInput
	// Prefix is the prefix of the objects to fetch; nil means all objects.
	Prefix pulumi.StringInput

	// At most one of the following ways to log in. Credentials become a Secret in the source's namespace, so the
	// namespace's owner can read them. Without any of them, source-controller uses its own workload identity, or no login
	// where Provider is empty.

	// AccessKey and SecretKey log in to aws or another S3 service.
	AccessKey, SecretKey pulumi.StringInput
	// GoogleCredentials is the JSON key of a service account, for gcp.
	GoogleCredentials pulumi.StringInput
	// SASKey is a token, for azure.
	SASKey pulumi.StringInput
	// SecretName names an existing Secret with the credentials that the provider needs.
	SecretName pulumi.StringInput
	// ServiceAccount is the account in Namespace whose workload identity logs in to aws, azure or gcp.
	ServiceAccount pulumi.StringInput

	// TLS configures TLS for an S3 service other than aws.
	TLS *TLS
	// Insecure uses HTTP instead of HTTPS.
	Insecure bool
}

func (Bucket) kind() string { return bucketKind }

func (b Bucket) address() pulumi.StringInput { return pulumi.Sprintf("%s/%s", b.Endpoint, b.Name) }

func (b Bucket) fill(s *sourceBuilder) error {
	s.spec["bucketName"], s.spec["endpoint"] = b.Name, b.Endpoint
	s.spec["provider"] = pulumi.String(provider(b.Provider))
	put(s.spec, "region", b.Region)
	put(s.spec, "prefix", b.Prefix)
	put(s.spec, "serviceAccountName", b.ServiceAccount)
	if b.Insecure {
		s.spec["insecure"] = pulumi.Bool(true)
	}
	reference(s.spec, "secretRef", b.SecretName)
	if count(b.SecretKey, b.GoogleCredentials, b.SASKey) > 0 {
		login := map[string]pulumi.StringInput{
			"accesskey": b.AccessKey, "secretkey": b.SecretKey, "serviceaccount": b.GoogleCredentials, "sasKey": b.SASKey,
		}
		if err := s.secret(s.spec, "secretRef", credentialsSuffix, opaque, login); err != nil {
			return err
		}
	}
	if b.TLS == nil {
		return nil
	}
	return s.secret(s.spec, "certSecretRef", tlsSuffix, opaque, b.TLS.data())
}

func (b Bucket) check() []string {
	var p problems
	cloud := provider(b.Provider)
	p.refuse(inputs.Missing(b.Name) || inputs.Missing(b.Endpoint), "Bucket.Name and Bucket.Endpoint must be given")
	p.refuse(!slices.Contains([]string{"generic", "aws", "azure", "gcp"}, cloud), "Bucket.Provider must be aws, azure or gcp")
	p = append(p, together("Bucket.AccessKey and Bucket.SecretKey", b.AccessKey, b.SecretKey)...)
	p.refuse(count(b.SecretKey, b.GoogleCredentials, b.SASKey, b.SecretName, b.ServiceAccount) > 1,
		"only one of Bucket.SecretKey, Bucket.GoogleCredentials, Bucket.SASKey, Bucket.SecretName and Bucket.ServiceAccount may be given")
	p.refuse(!inputs.Missing(b.SecretKey) && cloud != "generic" && cloud != "aws", "Bucket.SecretKey is not for Provider "+cloud)
	p.refuse(!inputs.Missing(b.GoogleCredentials) && cloud != "gcp", "Bucket.GoogleCredentials is for Provider gcp")
	p.refuse(!inputs.Missing(b.SASKey) && cloud != "azure", "Bucket.SASKey is for Provider azure")
	p.refuse(!inputs.Missing(b.ServiceAccount) && cloud == "generic", "Bucket.ServiceAccount needs a Provider")
	p.refuse(b.TLS != nil && cloud != "generic", "Bucket.TLS is not for Provider "+cloud)
	p.refuse(b.TLS != nil && b.Insecure, "Bucket.Insecure excludes Bucket.TLS")
	return append(p, b.TLS.check()...)
}

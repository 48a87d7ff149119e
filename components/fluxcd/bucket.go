package fluxcd

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const bucketKind = "Bucket"

// Bucket is an object storage bucket, an Origin of a Source. Flux verifies no signature of what is in a bucket: take OCI
// where that is needed.
type Bucket struct {
	// Name of the bucket, and the Endpoint that it is at, a host without a scheme. Required.
	Name, Endpoint pulumi.StringInput
	// Provider is aws, azure, gcp, or by default whatever speaks S3.
	Provider string
	// Region of the bucket, where the endpoint does not say it.
	Region pulumi.StringInput
	// Prefix of the objects to fetch, all by default.
	Prefix pulumi.StringInput

	// At most one way to log in. Each but ServiceAccount becomes a Secret in the source's namespace, so that its owner can read
	// it. Without any, the workload identity of source-controller is used, or nothing where Provider is not given.

	// AccessKey and SecretKey of aws or of what speaks S3.
	AccessKey, SecretKey pulumi.StringInput
	// GoogleCredentials is the JSON key of a service account of gcp.
	GoogleCredentials pulumi.StringInput
	// SASKey is a token of azure.
	SASKey pulumi.StringInput
	// SecretName names a Secret with what the provider wants that is there already.
	SecretName pulumi.StringInput
	// ServiceAccount is the account in Namespace whose workload identity logs in, of aws, azure and gcp.
	ServiceAccount pulumi.StringInput

	// TLS of what speaks S3.
	TLS *TLS
	// Insecure speaks http with the endpoint.
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
	p.refuse(b.Name == nil || b.Endpoint == nil, "Bucket.Name and Bucket.Endpoint must be given")
	p.refuse(!slices.Contains([]string{"generic", "aws", "azure", "gcp"}, cloud), "Bucket.Provider must be aws, azure or gcp")
	p = append(p, together("Bucket.AccessKey and Bucket.SecretKey", b.AccessKey, b.SecretKey)...)
	p.refuse(count(b.SecretKey, b.GoogleCredentials, b.SASKey, b.SecretName, b.ServiceAccount) > 1,
		"only one of Bucket.SecretKey, Bucket.GoogleCredentials, Bucket.SASKey, Bucket.SecretName and Bucket.ServiceAccount may be given")
	p.refuse(b.SecretKey != nil && cloud != "generic" && cloud != "aws", "Bucket.SecretKey is not for Provider "+cloud)
	p.refuse(b.GoogleCredentials != nil && cloud != "gcp", "Bucket.GoogleCredentials is for Provider gcp")
	p.refuse(b.SASKey != nil && cloud != "azure", "Bucket.SASKey is for Provider azure")
	p.refuse(b.ServiceAccount != nil && cloud == "generic", "Bucket.ServiceAccount needs a Provider")
	p.refuse(b.TLS != nil && cloud != "generic", "Bucket.TLS is not for Provider "+cloud)
	p.refuse(b.TLS != nil && b.Insecure, "Bucket.Insecure excludes Bucket.TLS")
	return append(p, b.TLS.check()...)
}

package teams

import (
	"fmt"
	"regexp"
)

// SourceBucket is the objects in a team's bucket. Flux verifies no signatures of them.
const SourceBucket = "bucket"

// Providers of a bucket, which are those of Flux.
const (
	// BucketGeneric is a service with the protocol of S3.
	BucketGeneric = "generic"
	// BucketGCP is Google's Cloud Storage.
	BucketGCP = "gcp"

	// gcpEndpoint is the endpoint of every bucket of BucketGCP.
	gcpEndpoint = "storage.googleapis.com"
)

// Bucket is the bucket of a team with SourceBucket.
type Bucket struct {
	// Name is the name of the bucket. Required, and the bucket of one team only.
	Name string `json:"name"`
	// Provider is BucketGeneric or BucketGCP; empty means BucketGCP.
	Provider string `json:"provider,omitempty"`
	// Endpoint is the host of the service, with a port if it is not 443. Required for BucketGeneric, and given by BucketGCP.
	Endpoint string `json:"endpoint,omitempty"`
	// Region is the region of the bucket, for BucketGeneric; empty means the default of the service.
	Region string `json:"region,omitempty"`
	// Prefix is the prefix of the objects that Flux fetches; empty means all.
	Prefix string `json:"prefix,omitempty"`
}

var (
	bucketName     = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$`)
	bucketEndpoint = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)
	bucketPrefix   = regexp.MustCompile(`^[A-Za-z0-9._/-]*$`)
)

// Objects reports whether Flux applies the objects of a bucket.
func (t Team) Objects() bool { return t.Source == SourceBucket }

// bucketProblems returns the problems of the fields of a team with SourceBucket.
func (t Team) bucketProblems(at string) []error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(at+format, args...)) }
	if t.Verify != "" || len(t.Publishers) > 0 {
		refuse(" has verify or publishers, and source: %s: Flux verifies no signatures of a bucket: use source: %s or %s", SourceBucket, SourceOCI, SourceGit)
	}
	if t.Branch != "" || t.Versions != "" || t.RecurseSubmodules {
		refuse(" has branch, versions or recurseSubmodules, which a bucket does not have")
	}
	if t.Bucket == nil {
		refuse(".bucket is missing: source: %s needs it", SourceBucket)
		return problems
	}
	b := *t.Bucket
	if !bucketName.MatchString(b.Name) {
		refuse(".bucket.name %q is not the name of a bucket", b.Name)
	}
	if !bucketPrefix.MatchString(b.Prefix) {
		refuse(".bucket.prefix %q has other characters than letters, digits and ._/-", b.Prefix)
	}
	switch b.Provider {
	case "", BucketGCP:
		if b.Endpoint != "" || b.Region != "" {
			refuse(".bucket has endpoint or region, which provider %s determines", BucketGCP)
		}
	case BucketGeneric:
		if !bucketEndpoint.MatchString(b.Endpoint) {
			refuse(".bucket.endpoint %q is not a host, such as s3.example.com, without a scheme and a path", b.Endpoint)
		}
	default:
		refuse(".bucket.provider %q must be %s or %s", b.Provider, BucketGCP, BucketGeneric)
	}
	return problems
}

// Address returns the address of the bucket, as admission policies compare it.
func (b Bucket) Address() string { return "https://" + b.Endpoint + "/" + b.Name }

// setDefaults completes a valid bucket.
func (b *Bucket) setDefaults() {
	if b.Provider == "" {
		b.Provider = BucketGCP
	}
	if b.Provider == BucketGCP {
		b.Endpoint = gcpEndpoint
	}
}

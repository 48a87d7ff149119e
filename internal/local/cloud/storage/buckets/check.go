package buckets

import (
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

var (
	bucketNames = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{1,61}[a-z0-9]$`)
	// bucketLocations matches regions, multi-regions and predefined dual-regions.
	bucketLocations = regexp.MustCompile(`^([A-Z]+-[A-Z]+\d+|US|EU|ASIA|NAM4|EUR[4578]|ASIA1)$`)
	storageClasses  = []string{"STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE", "MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY"}
)

// uniformLock is the time for which clients can turn uniform bucket-level access off again.
const uniformLock = 90 * 24 * time.Hour

// checkBucketName returns an error for an invalid name of a bucket. The first segments of the emulator's own paths are
// invalid, too, because the XML API reads objects at /BUCKET/OBJECT.
func (s *service) checkBucketName(name string) error {
	if !bucketNames.MatchString(name) || net.ParseIP(name) != nil || strings.HasPrefix(name, "goog") || strings.Contains(name, "google") ||
		strings.Contains(name, "..") || strings.Contains(name, ".-") || strings.Contains(name, "-.") {
		return api.LegacyInvalid("Invalid bucket name: '%s'", name)
	}
	if s.IsPrefix(name) || slices.Contains([]string{"upload", "download", "resumable", "batch", "token"}, name) {
		return bucketNameTaken()
	}
	return nil
}

// checkBucket returns an error for invalid values, and for features that are not emulated although they affect the
// access to objects or their lifetime.
func checkBucket(wanted *storage.Bucket) error {
	wanted.Location = strings.ToUpper(wanted.Location)
	if wanted.Location != "" && !bucketLocations.MatchString(wanted.Location) {
		return api.LegacyInvalid("The specified location constraint is not valid.")
	}
	if wanted.StorageClass != "" && !slices.Contains(storageClasses, wanted.StorageClass) {
		return api.LegacyInvalid("The specified storage class is not valid.")
	}
	if iam := wanted.IamConfiguration; iam != nil && !slices.Contains([]string{"", "inherited", "enforced", "unspecified"}, iam.PublicAccessPrevention) {
		return api.LegacyInvalid("Invalid argument: publicAccessPrevention %q.", iam.PublicAccessPrevention)
	}
	for name, set := range map[string]bool{
		"autoclass":             wanted.Autoclass != nil && wanted.Autoclass.Enabled,
		"billing.requesterPays": wanted.Billing != nil && wanted.Billing.RequesterPays,
		"customPlacementConfig": wanted.CustomPlacementConfig != nil,
		"defaultEventBasedHold": wanted.DefaultEventBasedHold,
		"encryption":            wanted.Encryption != nil && wanted.Encryption.DefaultKmsKeyName != "",
		"hierarchicalNamespace": wanted.HierarchicalNamespace != nil && wanted.HierarchicalNamespace.Enabled,
		"ipFilter":              wanted.IpFilter != nil && wanted.IpFilter.Mode == "Enabled",
		"objectRetention":       wanted.ObjectRetention != nil,
		"retentionPolicy":       wanted.RetentionPolicy != nil,
	} {
		if set {
			return rest.NotEmulated(name)
		}
	}
	return nil
}

// refuseACL returns an error for access control lists, which are not emulated. Cloud Storage, too, rejects them in a
// bucket with uniform bucket-level access.
func refuseACL(c *api.Call, wanted *storage.Bucket) error {
	query := c.Request.URL.Query()
	if query.Get("predefinedAcl") == "" && query.Get("predefinedDefaultObjectAcl") == "" && len(wanted.Acl) == 0 && len(wanted.DefaultObjectAcl) == 0 {
		return nil
	}
	if UniformAccess(wanted) {
		return api.LegacyInvalid("Cannot use ACL API to update bucket policy when uniform bucket-level access is enabled. " +
			"Read more at https://cloud.google.com/storage/docs/uniform-bucket-level-access")
	}
	return rest.NotEmulated("An access control list")
}

// UniformAccess reports whether a bucket has uniform bucket-level access, which means that its policy controls the
// access without access control lists.
func UniformAccess(b *storage.Bucket) bool {
	iam := b.IamConfiguration
	return iam != nil && (iam.UniformBucketLevelAccess != nil && iam.UniformBucketLevelAccess.Enabled ||
		iam.BucketPolicyOnly != nil && iam.BucketPolicyOnly.Enabled)
}

// fillBucket sets the fields that Cloud Storage sets in a bucket. old is the bucket before the change, or nil for a
// new bucket.
func (s *service) fillBucket(b, old *storage.Bucket) {
	api.SetDefault(&b.Location, "US")
	api.SetDefault(&b.StorageClass, "STANDARD")
	b.Kind, b.Id = "storage#bucket", b.Name
	b.SelfLink = s.BaseURL + "/storage/storage/v1/b/" + b.Name
	switch {
	case strings.Contains(b.Location, "-"):
		b.LocationType, b.Rpo = "region", ""
	case strings.ContainsAny(b.Location, "0123456789"):
		b.LocationType = "dual-region"
		api.SetDefault(&b.Rpo, "DEFAULT")
	default:
		b.LocationType, b.Rpo = "multi-region", "DEFAULT"
	}
	b.Etag = rest.Etag(b.Metageneration)
	uniform := UniformAccess(b)
	if b.IamConfiguration == nil {
		b.IamConfiguration = &storage.BucketIamConfiguration{}
	}
	iam := b.IamConfiguration
	if iam.PublicAccessPrevention == "" || iam.PublicAccessPrevention == "unspecified" {
		iam.PublicAccessPrevention = "inherited"
	}
	locked := ""
	if uniform {
		locked = rest.Time(s.Now().Add(uniformLock))
		if old != nil && UniformAccess(old) {
			locked = old.IamConfiguration.UniformBucketLevelAccess.LockedTime
		}
	}
	iam.UniformBucketLevelAccess = &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: uniform, LockedTime: locked}
	iam.BucketPolicyOnly = &storage.BucketIamConfigurationBucketPolicyOnly{Enabled: uniform, LockedTime: locked}
}

// bucketResponse returns a bucket in the form of the API's responses, which contain false values.
func bucketResponse(b *storage.Bucket) *storage.Bucket {
	off := []string{"Enabled"}
	b.IamConfiguration.UniformBucketLevelAccess.ForceSendFields = off
	b.IamConfiguration.BucketPolicyOnly.ForceSendFields = off
	if b.Versioning != nil {
		b.Versioning.ForceSendFields = off
	}
	return b
}

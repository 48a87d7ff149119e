package buckets

import "github.com/strata-platform/strata/internal/local/cloud/core/api"

// PolicyKey returns the store's key of a bucket's IAM policy.
func PolicyKey(bucket string) string { return "buckets/" + bucket }

// OnBucket returns a bucket as the resource of a permission check.
func OnBucket(c *api.Call) api.Resource {
	path := "projects/_/buckets/" + c.Vars["bucket"]
	return api.Resource{
		Project: c.ProjectID(), Name: path, Policy: PolicyKey(c.Vars["bucket"]), Path: path, Kind: "storage.googleapis.com/Bucket",
	}
}

package cloud

import (
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// bucketPolicy returns the store's key of a bucket's IAM policy.
func bucketPolicy(bucket string) string { return "buckets/" + bucket }

func bucketResource(project, bucket string) api.Resource {
	path := "projects/_/buckets/" + bucket
	return api.Resource{Project: project, Name: path, Policy: bucketPolicy(bucket), Path: path, Kind: "storage.googleapis.com/Bucket"}
}

// onBucket returns a bucket as the resource of a permission check.
func onBucket(c *api.Call) api.Resource { return bucketResource(c.ProjectID(), c.Vars["bucket"]) }

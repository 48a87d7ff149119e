package cloud

// bucketPolicy returns the store's key of a bucket's IAM policy.
func bucketPolicy(bucket string) string { return "buckets/" + bucket }

func bucketResource(project, bucket string) resource {
	path := "projects/_/buckets/" + bucket
	return resource{project: project, name: path, policy: bucketPolicy(bucket), path: path, kind: "storage.googleapis.com/Bucket"}
}

// onBucket returns a bucket as the resource of a permission check.
func onBucket(c *call) resource { return bucketResource(c.projectID(), c.vars["bucket"]) }

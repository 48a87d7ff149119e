package buckets

import (
	"slices"
	"strconv"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

// bucketPolicyBody is a bucket's IAM policy in Cloud Storage's form, in which the policy is the whole body.
type bucketPolicyBody struct {
	Kind       string         `json:"kind,omitempty"`
	ResourceID string         `json:"resourceId,omitempty"`
	Version    int64          `json:"version,omitempty"`
	Etag       string         `json:"etag,omitempty"`
	Bindings   []*crm.Binding `json:"bindings,omitempty"`
}

func shownBucketPolicy(bucket string, policy *crm.Policy) *bucketPolicyBody {
	return &bucketPolicyBody{
		Kind: "storage#policy", ResourceID: "projects/_/buckets/" + bucket,
		Version: policy.Version, Etag: policy.Etag, Bindings: policy.Bindings,
	}
}

// newBucketPolicy returns the policy of a new bucket. Its roles on objects replace the access control lists that Cloud
// Storage gives new objects in a bucket without uniform access.
func newBucketPolicy(project string) *crm.Policy {
	owners := []string{"projectEditor:" + project, "projectOwner:" + project}
	viewers := []string{"projectViewer:" + project}
	return &crm.Policy{Bindings: []*crm.Binding{
		{Role: "roles/storage.legacyBucketOwner", Members: owners},
		{Role: "roles/storage.legacyBucketReader", Members: viewers},
		{Role: "roles/storage.legacyObjectOwner", Members: owners},
		{Role: "roles/storage.legacyObjectReader", Members: viewers},
	}}
}

func (s *service) getBucketPolicy(c *api.Call) (any, error) {
	// A client that does not support conditions asks for no version, and gets a policy without conditions.
	version := int64(1)
	if text := c.Request.URL.Query().Get("optionsRequestedPolicyVersion"); text != "" {
		var err error
		if version, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, api.LegacyInvalid("Invalid value for optionsRequestedPolicyVersion: '%s'.", text)
		}
	}
	if err := authz.CheckVersion(version); err != nil {
		return nil, err
	}
	var policy *crm.Policy
	err := s.Store.View(func(tx *bbolt.Tx) (err error) {
		policy, err = authz.ReadPolicy(tx, PolicyKey(c.Vars["bucket"]))
		return err
	})
	if err != nil {
		return nil, err
	}
	return shownBucketPolicy(c.Vars["bucket"], authz.AsVersion(policy, version)), nil
}

// setBucketPolicy replaces the policy of a bucket. An etag in the request must match that of the current policy.
func (s *service) setBucketPolicy(c *api.Call) (any, error) {
	var request bucketPolicyBody
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	name := c.Vars["bucket"]
	wanted := &crm.Policy{Version: request.Version, Etag: request.Etag, Bindings: request.Bindings}
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		found, err := Find(tx, name)
		if err != nil {
			return err
		}
		current, err := authz.ReadPolicy(tx, PolicyKey(name))
		if err != nil {
			return err
		}
		if wanted.Etag != "" && wanted.Etag != current.Etag {
			return rest.PreconditionFailed()
		}
		if err := checkBucketPolicy(found.Bucket, wanted); err != nil {
			return err
		}
		if err := s.CheckPolicy(tx, wanted, current); err != nil {
			return err
		}
		return authz.WritePolicy(tx, PolicyKey(name), wanted)
	})
	if err != nil {
		return nil, err
	}
	return shownBucketPolicy(name, wanted), nil
}

// checkBucketPolicy returns an error for bindings that the settings of the bucket do not allow.
func checkBucketPolicy(b *storage.Bucket, wanted *crm.Policy) error {
	for _, binding := range wanted.Bindings {
		if binding == nil {
			continue // CheckPolicy returns the error
		}
		open := slices.Contains(binding.Members, "allUsers") || slices.Contains(binding.Members, "allAuthenticatedUsers")
		switch {
		case open && b.IamConfiguration.PublicAccessPrevention == "enforced":
			return api.LegacyError(412, "conditionNotMet", "The member bindings allUsers and allAuthenticatedUsers are not allowed since "+
				"public access prevention is enforced.")
		case binding.Condition != nil && !UniformAccess(b):
			return api.LegacyInvalid("IAM conditions cannot be set on bucket %s: turn on its uniform bucket-level access first.", b.Name)
		}
	}
	return nil
}

func (s *service) testBucketPermissions(c *api.Call) (any, error) {
	answer := &storage.TestIamPermissionsResponse{Kind: "storage#testIamPermissionsResponse"}
	err := s.Store.View(func(tx *bbolt.Tx) error {
		for _, permission := range c.Request.URL.Query()["permissions"] {
			granted, err := s.Allowed(tx, c.Who, permission, OnBucket(c))
			if err != nil {
				return err
			}
			if granted {
				answer.Permissions = append(answer.Permissions, permission)
			}
		}
		return nil
	})
	return answer, err
}

// Package buckets handles the calls of Cloud Storage about buckets and their IAM policies.
package buckets

import (
	"net/http"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

// Table holds the buckets.
const Table store.Table = "storageBuckets" // <bucket>

// service handles the calls about buckets.
type service struct {
	*core.Core
	// empty reports whether a bucket has no objects.
	empty func(tx *bbolt.Tx, bucket string) bool
}

// Routes returns the calls about buckets. empty reports whether a bucket has no objects.
func Routes(c *core.Core, empty func(tx *bbolt.Tx, bucket string) bool) []api.Route {
	const (
		all = "storage/v1/b"
		one = all + "/{bucket}"
	)
	s := &service{c, empty}
	return []api.Route{
		{Method: "POST", Pattern: all, Permission: "storage.buckets.create", Handle: s.insertBucket},
		{Method: "GET", Pattern: all, Permission: "storage.buckets.list", Handle: s.listBuckets},
		{Method: "GET", Pattern: one, Permission: "storage.buckets.get", On: OnBucket, Handle: s.getBucket},
		{Method: "PATCH", Pattern: one, Permission: "storage.buckets.update", On: OnBucket, Handle: s.patchBucket},
		{Method: "PUT", Pattern: one, Permission: "storage.buckets.update", On: OnBucket, Handle: s.updateBucket},
		{Method: "DELETE", Pattern: one, Permission: "storage.buckets.delete", On: OnBucket, Handle: s.deleteBucket},
		{Method: "GET", Pattern: one + "/iam", Permission: "storage.buckets.getIamPolicy", On: OnBucket, Handle: s.getBucketPolicy},
		{Method: "PUT", Pattern: one + "/iam", Permission: "storage.buckets.setIamPolicy", On: OnBucket, Handle: s.setBucketPolicy},
		// The call returns only the caller's own permissions, so it requires none.
		{Method: "GET", Pattern: one + "/iam/testPermissions", Handle: s.testBucketPermissions},
	}
}

// Bucket is the record of a bucket.
type Bucket struct {
	Bucket  *storage.Bucket `json:"bucket"`
	Project string          `json:"project"`
}

// Find returns a bucket, or an API error if the bucket does not exist.
func Find(tx *bbolt.Tx, name string) (*Bucket, error) {
	found, err := store.Get[Bucket](tx, Table, name)
	if err == nil && found == nil {
		return nil, api.LegacyError(http.StatusNotFound, "notFound", "The specified bucket does not exist.")
	}
	return found, err
}

// insertBucket creates a bucket with its policy. As on Google Cloud, all projects share the names of buckets.
func (s *service) insertBucket(c *api.Call) (any, error) {
	wanted := &storage.Bucket{}
	if err := c.Decode(wanted); err != nil {
		return nil, err
	}
	if err := refuseACL(c, wanted); err != nil {
		return nil, err
	}
	if err := s.checkBucketName(wanted.Name); err != nil {
		return nil, err
	}
	if err := checkBucket(wanted); err != nil {
		return nil, err
	}
	made := &Bucket{Bucket: wanted, Project: c.Project.ID}
	now := rest.Time(s.Now())
	wanted.ProjectNumber = uint64(c.Project.Number)
	wanted.TimeCreated, wanted.Updated, wanted.Metageneration = now, now, 1
	wanted.Generation = s.Now().UnixMicro()
	s.fillBucket(wanted, nil)
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		existing, err := store.Get[Bucket](tx, Table, wanted.Name)
		switch {
		case err != nil:
			return err
		case existing != nil && existing.Project == made.Project:
			return api.LegacyError(http.StatusConflict, "conflict", "Your previous request to create the named bucket succeeded and you already own it.")
		case existing != nil:
			return bucketNameTaken()
		}
		if err := authz.WritePolicy(tx, PolicyKey(wanted.Name), newBucketPolicy(made.Project)); err != nil {
			return err
		}
		return store.Put(tx, Table, wanted.Name, made)
	})
	return bucketResponse(wanted), err
}

func bucketNameTaken() *api.Error {
	return api.LegacyError(http.StatusConflict, "conflict", "The requested bucket name is not available. The bucket namespace is shared by all "+
		"users of the system. Please select a different name and try again.")
}

func (s *service) getBucket(c *api.Call) (any, error) {
	wants, err := rest.QueryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	var answer *storage.Bucket
	err = s.Store.View(func(tx *bbolt.Tx) error {
		found, err := Find(tx, c.Vars["bucket"])
		if err != nil {
			return err
		}
		answer = bucketResponse(found.Bucket)
		return wants.CheckRead(answer.Generation, answer.Metageneration)
	})
	return answer, err
}

func (s *service) listBuckets(c *api.Call) (any, error) {
	query := c.Request.URL.Query()
	limit, err := api.PageSize(query.Get("maxResults"))
	if err != nil {
		return nil, err
	}
	answer := &storage.Buckets{Kind: "storage#buckets"}
	err = s.Store.View(func(tx *bbolt.Tx) error {
		return store.Each(tx, Table, query.Get("prefix"), func(name string, found *Bucket) error {
			switch {
			case found.Project != c.Project.ID || name <= query.Get("pageToken"):
			case len(answer.Items) == limit:
				answer.NextPageToken = answer.Items[limit-1].Name
			default:
				answer.Items = append(answer.Items, bucketResponse(found.Bucket))
			}
			return nil
		})
	})
	return answer, err
}

// patchBucket changes the fields in the request. A null removes a field.
func (s *service) patchBucket(c *api.Call) (any, error) {
	return s.changeBucket(c, func(old *storage.Bucket, wanted map[string]any) (*storage.Bucket, error) {
		whole, err := api.AsObject(old)
		if err != nil {
			return nil, err
		}
		return api.DecodeStrictly[storage.Bucket](api.MergePatch(whole, wanted))
	})
}

// updateBucket replaces all fields that clients can change.
func (s *service) updateBucket(c *api.Call) (any, error) {
	return s.changeBucket(c, func(_ *storage.Bucket, wanted map[string]any) (*storage.Bucket, error) {
		return api.DecodeStrictly[storage.Bucket](wanted)
	})
}

// changeBucket changes a bucket. apply merges the request into the old bucket. The preconditions and the change share one
// transaction, so that two clients cannot overwrite each other's change.
func (s *service) changeBucket(c *api.Call, apply func(*storage.Bucket, map[string]any) (*storage.Bucket, error)) (any, error) {
	wanted := map[string]any{}
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	wants, err := rest.QueryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	var changed *storage.Bucket
	err = s.Store.Update(func(tx *bbolt.Tx) error {
		found, err := Find(tx, c.Vars["bucket"])
		if err != nil {
			return err
		}
		old := found.Bucket
		if err := wants.CheckChange(old.Generation, old.Metageneration); err != nil {
			return err
		}
		if changed, err = apply(old, wanted); err != nil {
			return err
		}
		if err := refuseACL(c, changed); err != nil {
			return err
		}
		if changed.Location != "" && !strings.EqualFold(changed.Location, old.Location) {
			return api.LegacyInvalid("The location of a bucket cannot be changed.")
		}
		changed.Location = old.Location
		api.SetDefault(&changed.StorageClass, old.StorageClass)
		if err := checkBucket(changed); err != nil {
			return err
		}
		// Clients cannot change fields that the emulator sets.
		changed.Name, changed.ProjectNumber, changed.Generation = old.Name, old.ProjectNumber, old.Generation
		changed.TimeCreated, changed.Updated = old.TimeCreated, rest.Time(s.Now())
		changed.Metageneration = old.Metageneration + 1
		s.fillBucket(changed, old)
		found.Bucket = changed
		return store.Put(tx, Table, changed.Name, found)
	})
	if err != nil {
		return nil, err
	}
	return bucketResponse(changed), nil
}

func (s *service) deleteBucket(c *api.Call) (any, error) {
	wants, err := rest.QueryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	err = s.Store.Update(func(tx *bbolt.Tx) error {
		found, err := Find(tx, c.Vars["bucket"])
		if err != nil {
			return err
		}
		name := found.Bucket.Name
		if err := wants.CheckChange(found.Bucket.Generation, found.Bucket.Metageneration); err != nil {
			return err
		}
		if !s.empty(tx, name) {
			return api.LegacyError(http.StatusConflict, "conflict", "The bucket you tried to delete is not empty.")
		}
		if err := store.Remove(tx, authz.Policies, PolicyKey(name)); err != nil {
			return err
		}
		return store.Remove(tx, Table, name)
	})
	if err != nil {
		return nil, err
	}
	return rest.NoContent, nil
}

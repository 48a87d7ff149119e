package cloud

import (
	"net/http"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"
)

const buckets table = "storageBuckets" // <bucket>

// bucketService answers the calls about buckets.
type bucketService struct {
	*Core
	// empty reports whether a bucket has no objects.
	empty func(tx *bbolt.Tx, bucket string) bool
}

// bucketRoutes returns the calls about buckets. empty reports whether a bucket has no objects.
func bucketRoutes(c *Core, empty func(tx *bbolt.Tx, bucket string) bool) []route {
	const (
		all = "storage/v1/b"
		one = all + "/{bucket}"
	)
	s := &bucketService{c, empty}
	return []route{
		{method: "POST", pattern: all, permission: "storage.buckets.create", handle: s.insertBucket},
		{method: "GET", pattern: all, permission: "storage.buckets.list", handle: s.listBuckets},
		{method: "GET", pattern: one, permission: "storage.buckets.get", on: onBucket, handle: s.getBucket},
		{method: "PATCH", pattern: one, permission: "storage.buckets.update", on: onBucket, handle: s.patchBucket},
		{method: "PUT", pattern: one, permission: "storage.buckets.update", on: onBucket, handle: s.updateBucket},
		{method: "DELETE", pattern: one, permission: "storage.buckets.delete", on: onBucket, handle: s.deleteBucket},
		{method: "GET", pattern: one + "/iam", permission: "storage.buckets.getIamPolicy", on: onBucket, handle: s.getBucketPolicy},
		{method: "PUT", pattern: one + "/iam", permission: "storage.buckets.setIamPolicy", on: onBucket, handle: s.setBucketPolicy},
		// The call tells callers their own permissions, so it needs none.
		{method: "GET", pattern: one + "/iam/testPermissions", handle: s.testBucketPermissions},
	}
}

// bucket is the record of a bucket.
type bucket struct {
	Bucket  *storage.Bucket `json:"bucket"`
	Project string          `json:"project"`
}

// findBucket returns a bucket, or an API error if the bucket does not exist.
func findBucket(tx *bbolt.Tx, name string) (*bucket, error) {
	found, err := get[bucket](tx, buckets, name)
	if err == nil && found == nil {
		return nil, legacyError(http.StatusNotFound, "notFound", "The specified bucket does not exist.")
	}
	return found, err
}

func (s *bucketService) insertBucket(c *call) (any, error) {
	wanted := &storage.Bucket{}
	if err := c.decode(wanted); err != nil {
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
	made := &bucket{Bucket: wanted, Project: c.project.ID}
	now := storageTime(s.now())
	wanted.ProjectNumber = uint64(c.project.Number)
	wanted.TimeCreated, wanted.Updated, wanted.Metageneration = now, now, 1
	wanted.Generation = s.now().UnixMicro()
	s.fillBucket(wanted, nil)
	err := s.store.update(func(tx *bbolt.Tx) error {
		existing, err := get[bucket](tx, buckets, wanted.Name)
		switch {
		case err != nil:
			return err
		case existing != nil && existing.Project == made.Project:
			return legacyError(http.StatusConflict, "conflict", "Your previous request to create the named bucket succeeded and you already own it.")
		case existing != nil:
			return bucketNameTaken()
		}
		if err := writePolicy(tx, bucketPolicy(wanted.Name), newBucketPolicy(made.Project)); err != nil {
			return err
		}
		return put(tx, buckets, wanted.Name, made)
	})
	return shownBucket(wanted), err
}

func bucketNameTaken() *apiError {
	return legacyError(http.StatusConflict, "conflict", "The requested bucket name is not available. The bucket namespace is shared by all "+
		"users of the system. Please select a different name and try again.")
}

func (s *bucketService) getBucket(c *call) (any, error) {
	wants, err := queryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	var answer *storage.Bucket
	err = s.store.view(func(tx *bbolt.Tx) error {
		found, err := findBucket(tx, c.vars["bucket"])
		if err != nil {
			return err
		}
		answer = shownBucket(found.Bucket)
		return wants.checkRead(answer.Generation, answer.Metageneration)
	})
	return answer, err
}

func (s *bucketService) listBuckets(c *call) (any, error) {
	query := c.request.URL.Query()
	limit, err := pageSize(query.Get("maxResults"))
	if err != nil {
		return nil, err
	}
	answer := &storage.Buckets{Kind: "storage#buckets"}
	err = s.store.view(func(tx *bbolt.Tx) error {
		return each(tx, buckets, query.Get("prefix"), func(name string, found *bucket) error {
			switch {
			case found.Project != c.project.ID || name <= query.Get("pageToken"):
			case len(answer.Items) == limit:
				answer.NextPageToken = answer.Items[limit-1].Name
			default:
				answer.Items = append(answer.Items, shownBucket(found.Bucket))
			}
			return nil
		})
	})
	return answer, err
}

// patchBucket changes the fields that the request names. A null removes a field.
func (s *bucketService) patchBucket(c *call) (any, error) {
	return s.changeBucket(c, func(old *storage.Bucket, wanted map[string]any) (*storage.Bucket, error) {
		whole, err := asObject(old)
		if err != nil {
			return nil, err
		}
		return decodeStrictly[storage.Bucket](mergePatch(whole, wanted))
	})
}

// updateBucket replaces all fields that clients can change.
func (s *bucketService) updateBucket(c *call) (any, error) {
	return s.changeBucket(c, func(_ *storage.Bucket, wanted map[string]any) (*storage.Bucket, error) {
		return decodeStrictly[storage.Bucket](wanted)
	})
}

func (s *bucketService) changeBucket(c *call, apply func(*storage.Bucket, map[string]any) (*storage.Bucket, error)) (any, error) {
	wanted := map[string]any{}
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	wants, err := queryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	var changed *storage.Bucket
	err = s.store.update(func(tx *bbolt.Tx) error {
		found, err := findBucket(tx, c.vars["bucket"])
		if err != nil {
			return err
		}
		old := found.Bucket
		if err := wants.checkChange(old.Generation, old.Metageneration); err != nil {
			return err
		}
		if changed, err = apply(old, wanted); err != nil {
			return err
		}
		if err := refuseACL(c, changed); err != nil {
			return err
		}
		if changed.Location != "" && !strings.EqualFold(changed.Location, old.Location) {
			return legacyInvalid("The location of a bucket cannot be changed.")
		}
		changed.Location = old.Location
		setDefault(&changed.StorageClass, old.StorageClass)
		if err := checkBucket(changed); err != nil {
			return err
		}
		// Clients cannot change the fields that the server sets.
		changed.Name, changed.ProjectNumber, changed.Generation = old.Name, old.ProjectNumber, old.Generation
		changed.TimeCreated, changed.Updated = old.TimeCreated, storageTime(s.now())
		changed.Metageneration = old.Metageneration + 1
		s.fillBucket(changed, old)
		found.Bucket = changed
		return put(tx, buckets, changed.Name, found)
	})
	if err != nil {
		return nil, err
	}
	return shownBucket(changed), nil
}

func (s *bucketService) deleteBucket(c *call) (any, error) {
	wants, err := queryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	err = s.store.update(func(tx *bbolt.Tx) error {
		found, err := findBucket(tx, c.vars["bucket"])
		if err != nil {
			return err
		}
		name := found.Bucket.Name
		if err := wants.checkChange(found.Bucket.Generation, found.Bucket.Metageneration); err != nil {
			return err
		}
		if !s.empty(tx, name) {
			return legacyError(http.StatusConflict, "conflict", "The bucket you tried to delete is not empty.")
		}
		if err := remove(tx, policies, bucketPolicy(name)); err != nil {
			return err
		}
		return remove(tx, buckets, name)
	})
	if err != nil {
		return nil, err
	}
	return noContent, nil
}

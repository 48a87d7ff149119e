package storage

import (
	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/storage/buckets"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

// patchObject changes the metadata in the request. A null removes a field.
func (s *service) patchObject(c *api.Call) (any, error) {
	return s.changeObject(c, api.MergePatch)
}

// updateObject replaces all metadata that clients can change.
func (s *service) updateObject(c *api.Call) (any, error) {
	return s.changeObject(c, func(_, wanted map[string]any) map[string]any { return wanted })
}

// changeObject changes the metadata of an object, and never its content. apply merges the request into the old metadata. The
// preconditions and the change share one transaction, so that two clients cannot overwrite each other's change.
func (s *service) changeObject(c *api.Call, apply func(old, wanted map[string]any) map[string]any) (any, error) {
	wanted := map[string]any{}
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	wants, err := rest.QueryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	generation, err := queryGeneration(c, "generation")
	if err != nil {
		return nil, err
	}
	var answer *storage.Object
	err = s.Store.Update(func(tx *bbolt.Tx) error {
		found, err := requireObject(tx, c.Vars["bucket"], c.Vars["object"], generation)
		if err != nil {
			return err
		}
		if err := wants.CheckChange(numbers(found)); err != nil {
			return err
		}
		old, err := api.AsObject(found.Object)
		if err != nil {
			return err
		}
		changed, err := api.DecodeStrictly[storage.Object](apply(old, wanted))
		if err != nil {
			return err
		}
		if err := checkObject(changed); err != nil {
			return err
		}
		// Clients cannot change fields that the emulator sets.
		answer = found.Object
		answer.CacheControl, answer.ContentDisposition, answer.ContentEncoding = changed.CacheControl, changed.ContentDisposition, changed.ContentEncoding
		answer.ContentLanguage, answer.ContentType, answer.CustomTime = changed.ContentLanguage, changed.ContentType, changed.CustomTime
		answer.Metadata = changed.Metadata
		answer.Metageneration++
		answer.Updated, answer.Etag = rest.Time(s.Now()), rest.Etag(answer.Generation, answer.Metageneration)
		return store.Put(tx, objects, objectKey(answer), found)
	})
	if err != nil {
		return nil, err
	}
	return objectResponse(answer), nil
}

// deleteObject deletes an object. A bucket with versioning keeps the object as a noncurrent generation, unless the call
// names the generation.
func (s *service) deleteObject(c *api.Call) (any, error) {
	wants, err := rest.QueryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	generation, err := queryGeneration(c, "generation")
	if err != nil {
		return nil, err
	}
	var unused []string
	err = s.Store.Update(func(tx *bbolt.Tx) error {
		in, err := buckets.Find(tx, c.Vars["bucket"])
		if err != nil {
			return err
		}
		found, err := requireObject(tx, c.Vars["bucket"], c.Vars["object"], generation)
		if err != nil {
			return err
		}
		if err := wants.CheckChange(numbers(found)); err != nil {
			return err
		}
		if generation != 0 {
			unused = []string{found.Blob}
			return store.Remove(tx, objects, objectKey(found.Object))
		}
		unused, err = s.retire(tx, in.Bucket, found)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.drop(unused)
	return rest.NoContent, nil
}

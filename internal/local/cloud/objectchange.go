package cloud

import (
	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"
)

// patchObject changes the metadata that the request names. A null removes a field.
func (s *storageService) patchObject(c *call) (any, error) {
	return s.changeObject(c, mergePatch)
}

// updateObject replaces all metadata that clients can change.
func (s *storageService) updateObject(c *call) (any, error) {
	return s.changeObject(c, func(_, wanted map[string]any) map[string]any { return wanted })
}

func (s *storageService) changeObject(c *call, apply func(old, wanted map[string]any) map[string]any) (any, error) {
	wanted := map[string]any{}
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	wants, err := queryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	generation, err := queryGeneration(c, "generation")
	if err != nil {
		return nil, err
	}
	var answer *storage.Object
	err = s.store.update(func(tx *bbolt.Tx) error {
		found, err := requireObject(tx, c.vars["bucket"], c.vars["object"], generation)
		if err != nil {
			return err
		}
		if err := wants.checkChange(numbers(found)); err != nil {
			return err
		}
		old, err := asObject(found.Object)
		if err != nil {
			return err
		}
		changed, err := decodeStrictly[storage.Object](apply(old, wanted))
		if err != nil {
			return err
		}
		if err := checkObject(changed); err != nil {
			return err
		}
		// Clients cannot change the fields that the server sets.
		answer = found.Object
		answer.CacheControl, answer.ContentDisposition, answer.ContentEncoding = changed.CacheControl, changed.ContentDisposition, changed.ContentEncoding
		answer.ContentLanguage, answer.ContentType, answer.CustomTime = changed.ContentLanguage, changed.ContentType, changed.CustomTime
		answer.Metadata = changed.Metadata
		answer.Metageneration++
		answer.Updated, answer.Etag = storageTime(s.now()), etagOf(answer.Generation, answer.Metageneration)
		return put(tx, objects, objectKey(answer), found)
	})
	if err != nil {
		return nil, err
	}
	return shownObject(answer), nil
}

// deleteObject deletes an object. A bucket with versioning keeps the object as a noncurrent generation. Deleting that
// needs a call that names the generation.
func (s *storageService) deleteObject(c *call) (any, error) {
	wants, err := queryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	generation, err := queryGeneration(c, "generation")
	if err != nil {
		return nil, err
	}
	var unused []string
	err = s.store.update(func(tx *bbolt.Tx) error {
		in, err := findBucket(tx, c.vars["bucket"])
		if err != nil {
			return err
		}
		found, err := requireObject(tx, c.vars["bucket"], c.vars["object"], generation)
		if err != nil {
			return err
		}
		if err := wants.checkChange(numbers(found)); err != nil {
			return err
		}
		if generation != 0 {
			unused = []string{found.Blob}
			return remove(tx, objects, objectKey(found.Object))
		}
		unused, err = s.retire(tx, in.Bucket, found)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.drop(unused)
	return noContent, nil
}

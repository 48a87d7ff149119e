package cloud

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"
)

// bucket is the record of a bucket.
type bucket struct {
	Bucket  *storage.Bucket `json:"bucket"`
	Project string          `json:"project"`
}

// findBucket returns a bucket, or an API error if the bucket does not exist.
func findBucket(tx *bbolt.Tx, name string) (*bucket, error) {
	found, err := get[bucket](tx, buckets, name)
	if err == nil && found == nil {
		return nil, storageError(http.StatusNotFound, "notFound", "The specified bucket does not exist.")
	}
	return found, err
}

func (s *Server) insertBucket(c *call) (any, error) {
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
			return storageError(http.StatusConflict, "conflict", "Your previous request to create the named bucket succeeded and you already own it.")
		case existing != nil:
			return bucketNameTaken()
		}
		if err := s.writePolicy(tx, bucketPolicy(wanted.Name), newBucketPolicy(made.Project)); err != nil {
			return err
		}
		return put(tx, buckets, wanted.Name, made)
	})
	return shownBucket(wanted), err
}

func bucketNameTaken() *apiError {
	return storageError(http.StatusConflict, "conflict", "The requested bucket name is not available. The bucket namespace is shared by all "+
		"users of the system. Please select a different name and try again.")
}

func (s *Server) getBucket(c *call) (any, error) {
	wants, err := c.preconditions("if")
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

func (s *Server) listBuckets(c *call) (any, error) {
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

// maxPage is the maximum length of a list's page, and the length of a page if the caller does not name one.
const maxPage = 1000

func pageSize(text string) (int, error) {
	if text == "" {
		return maxPage, nil
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < 0 {
		return 0, invalidStorage("Invalid value for maxResults: '%s'. Values must be within the range: [0, 2147483647]", text)
	}
	if size == 0 || size > maxPage {
		return maxPage, nil
	}
	return size, nil
}

// patchBucket changes the fields that the request names. A null removes a field.
func (s *Server) patchBucket(c *call) (any, error) {
	return s.changeBucket(c, func(old *storage.Bucket, wanted map[string]any) (*storage.Bucket, error) {
		whole, err := asObject(old)
		if err != nil {
			return nil, err
		}
		return decodeStrictly[storage.Bucket](mergePatch(whole, wanted))
	})
}

// updateBucket replaces all fields that clients can change.
func (s *Server) updateBucket(c *call) (any, error) {
	return s.changeBucket(c, func(_ *storage.Bucket, wanted map[string]any) (*storage.Bucket, error) {
		return decodeStrictly[storage.Bucket](wanted)
	})
}

func (s *Server) changeBucket(c *call, apply func(*storage.Bucket, map[string]any) (*storage.Bucket, error)) (any, error) {
	wanted := map[string]any{}
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	wants, err := c.preconditions("if")
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
			return invalidStorage("The location of a bucket cannot be changed.")
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

func (s *Server) deleteBucket(c *call) (any, error) {
	wants, err := c.preconditions("if")
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
		if key, _ := seekObject(tx, name, ""); key != nil {
			return storageError(http.StatusConflict, "conflict", "The bucket you tried to delete is not empty.")
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

// mergePatch applies a JSON merge patch (RFC 7396).
func mergePatch(whole, patch map[string]any) map[string]any {
	for field, value := range patch {
		part, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(whole, field)
		case isObject:
			inner, ok := whole[field].(map[string]any)
			if !ok {
				inner = map[string]any{}
			}
			whole[field] = mergePatch(inner, part)
		default:
			whole[field] = value
		}
	}
	return whole
}

// asObject returns the JSON object that value encodes to.
func asObject(value any) (map[string]any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	return object, json.Unmarshal(data, &object)
}

// decodeStrictly decodes a JSON object into a request type of an API, and refuses unknown fields.
func decodeStrictly[T any](object map[string]any) (*T, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	into := new(T)
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return nil, invalidArgument("Invalid JSON payload received. %s", payloadFault(err))
	}
	return into, nil
}

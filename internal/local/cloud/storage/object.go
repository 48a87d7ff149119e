package storage

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/storage/blobs"
	"github.com/strata-platform/strata/internal/local/cloud/storage/buckets"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

// object is the record of one generation of an object. Its content is a blob of its own.
type object struct {
	Object *storage.Object `json:"object"`
	Blob   string          `json:"blob"`
}

// live reports whether this is the live generation, which a call reads if it names no generation.
func (o *object) live() bool { return o != nil && o.Object.TimeDeleted == "" }

// In the store, the generations of an object follow each other, the newest last, because names contain no NUL, and
// generations have a fixed number of digits.

const keySeparator = "\x00"

func objectPrefix(bucket, name string) string { return bucket + keySeparator + name + keySeparator }

func objectKey(o *storage.Object) string {
	return objectPrefix(o.Bucket, o.Name) + fmt.Sprintf("%016x", o.Generation)
}

// seekObject returns the key and the record of the first object in a bucket at or after a position: a name, or the
// part of a key after the bucket. It returns nil for both if there is none.
func seekObject(tx *bbolt.Tx, bucket, from string) (key, record []byte) {
	prefix := []byte(bucket + keySeparator)
	key, record = tx.Bucket([]byte(objects)).Cursor().Seek(append(prefix, from...))
	if !bytes.HasPrefix(key, prefix) {
		return nil, nil
	}
	return key, record
}

// isEmpty reports whether a bucket has no objects.
func isEmpty(tx *bbolt.Tx, bucket string) bool {
	key, _ := seekObject(tx, bucket, "")
	return key == nil
}

// findGeneration returns a generation of an object, or the live one if generation is 0. It returns nil if there is
// none.
func findGeneration(tx *bbolt.Tx, bucket, name string, generation int64) (*object, error) {
	if generation != 0 {
		return store.Get[object](tx, objects, objectKey(&storage.Object{Bucket: bucket, Name: name, Generation: generation}))
	}
	var newest *object
	err := store.Each(tx, objects, objectPrefix(bucket, name), func(_ string, found *object) error {
		newest = found
		return nil
	})
	if err != nil || !newest.live() {
		return nil, err
	}
	return newest, nil
}

// requireObject is like findGeneration, but returns an API error if there is no such generation.
func requireObject(tx *bbolt.Tx, bucket, name string, generation int64) (*object, error) {
	found, err := findGeneration(tx, bucket, name, generation)
	if err == nil && found == nil {
		return nil, api.LegacyError(http.StatusNotFound, "notFound", "No such object: %s/%s", bucket, name)
	}
	return found, err
}

// queryGeneration returns the generation in a query parameter, or 0 if the parameter is missing.
func queryGeneration(c *api.Call, parameter string) (int64, error) {
	text := c.Request.URL.Query().Get(parameter)
	if text == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 {
		return 0, api.LegacyInvalid("Invalid long value: '%s' for %s.", text, parameter)
	}
	return number, nil
}

// checkObjectName returns an error for a name that Cloud Storage does not allow.
func checkObjectName(name string) error {
	switch {
	case name == "":
		return api.LegacyError(http.StatusBadRequest, "required", "Required parameter: name")
	case len(name) > 1024, !utf8.ValidString(name), strings.ContainsAny(name, "\r\n\x00"), name == ".", name == "..",
		strings.HasPrefix(name, ".well-known/acme-challenge/"):
		return api.LegacyInvalid("Invalid object name: %q", name)
	}
	return nil
}

// checkObject returns an error for metadata that is not emulated although it affects the access to an object or its
// lifetime.
func checkObject(wanted *storage.Object) error {
	for name, set := range map[string]bool{
		"acl":                wanted.Acl != nil,
		"customerEncryption": wanted.CustomerEncryption != nil,
		"eventBasedHold":     wanted.EventBasedHold,
		"kmsKeyName":         wanted.KmsKeyName != "",
		"retention":          wanted.Retention != nil,
		"temporaryHold":      wanted.TemporaryHold,
	} {
		if set {
			return rest.NotEmulated(name)
		}
	}
	return nil
}

// replaceObject writes a new generation of an object with a blob as its content. It returns the new generation, and
// the blobs that are unused after the transaction. Overwriting an object needs the permission to delete it, as on
// Cloud Storage.
func (s *service) replaceObject(tx *bbolt.Tx, c *api.Call, wanted *storage.Object, content blobs.Blob, wants rest.Preconditions) (*storage.Object, []string, error) {
	in, err := buckets.Find(tx, wanted.Bucket)
	if err != nil {
		return nil, nil, err
	}
	old, err := findGeneration(tx, wanted.Bucket, wanted.Name, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := wants.CheckChange(numbers(old)); err != nil {
		return nil, nil, err
	}
	var unused []string
	if old != nil {
		if err := s.requireOn(tx, c, "storage.objects.delete", objectResource(in.Project, wanted.Bucket, wanted.Name)); err != nil {
			return nil, nil, err
		}
		if unused, err = s.retire(tx, in.Bucket, old); err != nil {
			return nil, nil, err
		}
	}
	made, err := s.fillObject(tx, in.Bucket, wanted, content)
	if err != nil {
		return nil, nil, err
	}
	return made, unused, store.Put(tx, objects, objectKey(made), &object{Object: made, Blob: content.ID})
}

func numbers(o *object) (generation, metageneration int64) {
	if o == nil {
		return 0, 0
	}
	return o.Object.Generation, o.Object.Metageneration
}

// retire ends a live generation. A bucket with versioning keeps it as a noncurrent generation; any other bucket
// removes it. retire returns the blobs that are unused after the transaction.
func (s *service) retire(tx *bbolt.Tx, in *storage.Bucket, old *object) ([]string, error) {
	key := objectKey(old.Object)
	if in.Versioning != nil && in.Versioning.Enabled {
		old.Object.TimeDeleted = rest.Time(s.Now())
		return nil, store.Put(tx, objects, key, old)
	}
	return []string{old.Blob}, store.Remove(tx, objects, key)
}

// fillObject sets the fields that Cloud Storage sets in a new generation of an object.
func (s *service) fillObject(tx *bbolt.Tx, in *storage.Bucket, wanted *storage.Object, content blobs.Blob) (*storage.Object, error) {
	made, now := *wanted, rest.Time(s.Now())
	var err error
	if made.Generation, err = nextGeneration(tx, s.Now().UnixMicro()); err != nil {
		return nil, err
	}
	made.Metageneration, made.Size = 1, uint64(content.Size)
	made.Crc32c = base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, content.CRC32C))
	if made.ComponentCount == 0 {
		made.Md5Hash = base64.StdEncoding.EncodeToString(content.MD5[:])
	}
	api.SetDefault(&made.StorageClass, in.StorageClass)
	made.TimeCreated, made.Updated, made.TimeFinalized, made.TimeStorageClassUpdated = now, now, now, now
	made.TimeDeleted = ""
	made.Kind, made.Etag = "storage#object", rest.Etag(made.Generation, 1)
	made.Id = made.Bucket + "/" + made.Name + "/" + strconv.FormatInt(made.Generation, 10)
	path := "b/" + made.Bucket + "/o/" + url.PathEscape(made.Name)
	made.SelfLink = s.BaseURL + "/storage/storage/v1/" + path
	made.MediaLink = s.BaseURL + "/download/storage/v1/" + path + "?generation=" + strconv.FormatInt(made.Generation, 10) + "&alt=media"
	return &made, nil
}

// nextGeneration returns the number of a new generation: the time in microseconds, or one more than the last number if
// that is greater.
func nextGeneration(tx *bbolt.Tx, now int64) (int64, error) {
	table := tx.Bucket([]byte(objects))
	next := max(uint64(now), table.Sequence()+1)
	return int64(next), table.SetSequence(next)
}

// objectResponse returns an object in the form of the API's responses, which contain the size even if it is 0.
func objectResponse(o *storage.Object) *storage.Object {
	o.ForceSendFields = []string{"Size"}
	return o
}

// drop removes unused blobs. If it fails to remove a blob, the next start of the emulator removes it.
func (s *service) drop(unused []string) {
	for _, id := range unused {
		_ = s.blobs.Remove(id)
	}
}

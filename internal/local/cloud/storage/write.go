package storage

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/storage/blobs"
	"github.com/strata-platform/strata/internal/local/cloud/storage/buckets"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

// insertObject writes an object by one of three upload types: media sends only the content, multipart sends metadata
// and content in one request, and resumable sends several requests.
func (s *service) insertObject(c *api.Call) (any, error) {
	switch kind := c.Request.URL.Query().Get("uploadType"); kind {
	case "media":
		wanted := &storage.Object{ContentType: c.Request.Header.Get("Content-Type")}
		return s.writeObject(c, wanted, c.Request.Body)
	case "multipart":
		return s.insertMultipart(c)
	case "resumable":
		return s.beginOrContinueUpload(c)
	default:
		return nil, api.LegacyInvalid("Upload type %q is not supported: use media, multipart or resumable.", kind)
	}
}

func (s *service) insertMultipart(c *api.Call) (any, error) {
	kind, parameters, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") || parameters["boundary"] == "" {
		return nil, api.LegacyError(http.StatusBadRequest, "badContent", "A multipart/related body with a boundary is needed for uploadType=multipart.")
	}
	parts := multipart.NewReader(c.Request.Body, parameters["boundary"])
	first, err := parts.NextPart()
	if err != nil {
		return nil, malformedUpload(err)
	}
	wanted, err := decodeMetadata(first)
	if err != nil {
		return nil, err
	}
	second, err := parts.NextRawPart()
	if err != nil {
		return nil, malformedUpload(err)
	}
	api.SetDefault(&wanted.ContentType, second.Header.Get("Content-Type"))
	return s.writeObject(c, wanted, second)
}

func malformedUpload(err error) error {
	return api.LegacyError(http.StatusBadRequest, "badContent", "Malformed multipart body: %v.", err)
}

// decodeMetadata reads the metadata of an object. An empty body means no metadata.
func decodeMetadata(body io.Reader) (*storage.Object, error) {
	data, err := io.ReadAll(io.LimitReader(body, api.MaxBody))
	if err != nil {
		return nil, malformedUpload(err)
	}
	fields := map[string]any{}
	if len(strings.TrimSpace(string(data))) > 0 {
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, api.InvalidArgument("Invalid JSON payload received. %s", api.PayloadFault(err))
		}
	}
	return api.DecodeStrictly[storage.Object](fields)
}

// prepareObject completes the metadata of a new object. It returns an error if the caller may not write the object.
func (s *service) prepareObject(c *api.Call, wanted *storage.Object, bucket string) error {
	query := c.Request.URL.Query()
	wanted.Bucket = bucket
	api.SetDefault(&wanted.Name, query.Get("name"))
	api.SetDefault(&wanted.ContentType, "application/octet-stream")
	api.SetDefault(&wanted.ContentEncoding, query.Get("contentEncoding"))
	if err := checkObjectName(wanted.Name); err != nil {
		return err
	}
	if err := checkObject(wanted); err != nil {
		return err
	}
	return s.Store.View(func(tx *bbolt.Tx) error {
		in, err := buckets.Find(tx, bucket)
		if err != nil {
			return err
		}
		if acl := query.Get("predefinedAcl") + query.Get("destinationPredefinedAcl"); acl != "" {
			return refuseObjectACL(in.Bucket)
		}
		return s.requireOn(tx, c, "storage.objects.create", objectResource(in.Project, bucket, wanted.Name))
	})
}

func refuseObjectACL(in *storage.Bucket) error {
	if buckets.UniformAccess(in) {
		return api.LegacyInvalid("Cannot insert legacy ACL for an object when uniform bucket-level access is enabled. " +
			"Read more at https://cloud.google.com/storage/docs/uniform-bucket-level-access")
	}
	return rest.NotEmulated("An access control list")
}

// writeObject writes an object with the content of body.
func (s *service) writeObject(c *api.Call, wanted *storage.Object, body io.Reader) (any, error) {
	wants, err := rest.QueryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	if err := s.prepareObject(c, wanted, c.Vars["bucket"]); err != nil {
		return nil, err
	}
	content, err := s.blobs.Put(body)
	if err != nil {
		return nil, brokenUpload(err)
	}
	return s.commitObject(c, wanted, content, wants, nil)
}

// brokenUpload returns the error for content that could not be stored. Incomplete content is an error of the client; an
// error of the disk is an internal error.
func brokenUpload(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, http.ErrBodyReadAfterClose) {
		return api.LegacyError(http.StatusBadRequest, "badContent", "The content ended early: %v.", err)
	}
	return err
}

// commitObject makes a blob on disk the newest generation of an object. If it fails, it removes the blob. also is a
// further function to run in the same transaction.
func (s *service) commitObject(c *api.Call, wanted *storage.Object, content blobs.Blob, wants rest.Preconditions, also func(*bbolt.Tx, *storage.Object) error) (*storage.Object, error) {
	var made *storage.Object
	var unused []string
	err := checkSums(c, wanted, content)
	if err == nil {
		err = s.Store.Update(func(tx *bbolt.Tx) (err error) {
			made, unused, err = s.replaceObject(tx, c, wanted, content, wants)
			if err != nil || also == nil {
				return err
			}
			return also(tx, made)
		})
	}
	if err != nil {
		s.drop([]string{content.ID})
		return nil, err
	}
	s.drop(unused)
	return objectResponse(made), nil
}

// checkSums returns an error for content that does not match the caller's checksums, which are in the metadata or in
// the header X-Goog-Hash.
func checkSums(c *api.Call, wanted *storage.Object, content blobs.Blob) error {
	crc := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, content.CRC32C))
	sum := base64.StdEncoding.EncodeToString(content.MD5[:])
	wantedCRC, wantedMD5 := wanted.Crc32c, wanted.Md5Hash
	for _, header := range c.Request.Header.Values("X-Goog-Hash") {
		for part := range strings.SplitSeq(header, ",") {
			kind, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch kind {
			case "crc32c":
				wantedCRC = value
			case "md5":
				wantedMD5 = value
			}
		}
	}
	if wantedCRC != "" && wantedCRC != crc {
		return api.LegacyInvalid("Provided CRC32C %q doesn't match calculated CRC32C %q.", wantedCRC, crc)
	}
	if wantedMD5 != "" && wantedMD5 != sum {
		return api.LegacyInvalid("Provided MD5 hash %q doesn't match calculated MD5 hash %q.", wantedMD5, sum)
	}
	return nil
}

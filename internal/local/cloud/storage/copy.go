package storage

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/storage/blobs"
	"github.com/strata-platform/strata/internal/local/cloud/storage/buckets"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

// rewriteObject copies an object. Unlike Cloud Storage, it never needs a second call.
func (s *service) rewriteObject(c *api.Call) (any, error) {
	made, err := s.copyTo(c)
	if err != nil {
		return nil, err
	}
	return &storage.RewriteResponse{
		Kind: "storage#rewriteResponse", Done: true, ObjectSize: int64(made.Size), TotalBytesRewritten: int64(made.Size), Resource: made,
		ForceSendFields: []string{"ObjectSize", "TotalBytesRewritten"},
	}, nil
}

func (s *service) copyObject(c *api.Call) (any, error) {
	made, err := s.copyTo(c)
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (s *service) copyTo(c *api.Call) (*storage.Object, error) {
	given, err := decodeMetadata(c.Request.Body)
	if err != nil {
		return nil, err
	}
	onSource, err := rest.QueryPreconditions(c, "ifSource")
	if err != nil {
		return nil, err
	}
	wants, err := rest.QueryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	generation, err := queryGeneration(c, "sourceGeneration")
	if err != nil {
		return nil, err
	}
	source, err := s.sourceObject(c, c.Vars["bucket"], c.Vars["object"], generation, onSource)
	if err != nil {
		return nil, err
	}
	wanted := copiedMetadata(source.Object, given)
	wanted.Name = c.Vars["toObject"]
	if err := s.prepareObject(c, wanted, c.Vars["toBucket"]); err != nil {
		return nil, err
	}
	content, err := s.copyContent(source)
	if err != nil {
		return nil, err
	}
	return s.commitObject(c, wanted, content, wants, nil)
}

// copiedMetadata returns the metadata of a copy: the given metadata, or the source's if the caller gives none.
func copiedMetadata(source, given *storage.Object) *storage.Object {
	wanted := *given
	if given.CacheControl+given.ContentDisposition+given.ContentEncoding+given.ContentLanguage+given.ContentType+given.CustomTime == "" && given.Metadata == nil {
		wanted = storage.Object{
			CacheControl: source.CacheControl, ContentDisposition: source.ContentDisposition, ContentEncoding: source.ContentEncoding,
			ContentLanguage: source.ContentLanguage, ContentType: source.ContentType, CustomTime: source.CustomTime, Metadata: source.Metadata,
			StorageClass: given.StorageClass,
		}
	}
	// The checksums belong to the content, so commitObject computes them again.
	wanted.ComponentCount, wanted.Crc32c, wanted.Md5Hash = source.ComponentCount, "", ""
	return &wanted
}

// copyContent links the content of an object under a new blob name. Contents never change, so a link is a copy.
func (s *service) copyContent(source *object) (blobs.Blob, error) {
	id, err := s.blobs.Link(source.Blob)
	if errors.Is(err, fs.ErrNotExist) && s.replaced(source) {
		return blobs.Blob{}, api.LegacyError(http.StatusServiceUnavailable, "backendError", "The source was replaced meanwhile. Please retry.")
	}
	if err != nil {
		return blobs.Blob{}, err
	}
	return s.blobs.Finish(id)
}

// sourceObject returns an object that the call copies or composes.
func (s *service) sourceObject(c *api.Call, bucket, name string, generation int64, wants rest.Preconditions) (*object, error) {
	var found *object
	err := s.Store.View(func(tx *bbolt.Tx) error {
		in, err := buckets.Find(tx, bucket)
		if err != nil {
			return err
		}
		if err := s.requireOn(tx, c, "storage.objects.get", objectResource(in.Project, bucket, name)); err != nil {
			return err
		}
		if found, err = requireObject(tx, bucket, name, generation); err != nil {
			return err
		}
		return wants.CheckChange(numbers(found))
	})
	return found, err
}

// maxSources is the maximum number of objects that a compose call can join.
const maxSources = 32

// composeObject concatenates the contents of objects into a new object.
func (s *service) composeObject(c *api.Call) (any, error) {
	var request storage.ComposeRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	if n := len(request.SourceObjects); n == 0 || n > maxSources || slices.Contains(request.SourceObjects, nil) {
		return nil, api.LegacyInvalid("The number of source components provided (%d) must be between 1 and %d.", n, maxSources)
	}
	wants, err := rest.QueryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	wanted := request.Destination
	if wanted == nil {
		wanted = &storage.Object{}
	}
	wanted.Name, wanted.ComponentCount = c.Vars["object"], 0
	wanted.Crc32c, wanted.Md5Hash = "", ""
	if err := s.prepareObject(c, wanted, c.Vars["bucket"]); err != nil {
		return nil, err
	}
	var contents []io.Reader
	for _, part := range request.SourceObjects {
		var onSource rest.Preconditions
		if part.ObjectPreconditions != nil && part.ObjectPreconditions.IfGenerationMatch != 0 {
			onSource.GenerationMatch = &part.ObjectPreconditions.IfGenerationMatch
		}
		source, err := s.sourceObject(c, wanted.Bucket, part.Name, part.Generation, onSource)
		if err != nil {
			return nil, err
		}
		file, err := s.blobs.Open(source.Blob)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		contents = append(contents, file)
		wanted.ComponentCount += max(source.Object.ComponentCount, 1)
	}
	content, err := s.blobs.Put(io.MultiReader(contents...))
	if err != nil {
		return nil, err
	}
	return s.commitObject(c, wanted, content, wants, nil)
}

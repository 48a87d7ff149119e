package cloud

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/blobs"
)

// patchObject changes the metadata that the request names. A null removes a field.
func (s *Server) patchObject(c *call) (any, error) {
	return s.changeObject(c, mergePatch)
}

// updateObject replaces all metadata that clients can change.
func (s *Server) updateObject(c *call) (any, error) {
	return s.changeObject(c, func(_, wanted map[string]any) map[string]any { return wanted })
}

func (s *Server) changeObject(c *call, apply func(old, wanted map[string]any) map[string]any) (any, error) {
	wanted := map[string]any{}
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	wants, err := c.preconditions("if")
	if err != nil {
		return nil, err
	}
	generation, err := c.generation("generation")
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
func (s *Server) deleteObject(c *call) (any, error) {
	wants, err := c.preconditions("if")
	if err != nil {
		return nil, err
	}
	generation, err := c.generation("generation")
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

// rewriteObject copies an object, always in one call.
func (s *Server) rewriteObject(c *call) (any, error) {
	made, err := s.copyTo(c)
	if err != nil {
		return nil, err
	}
	return &storage.RewriteResponse{
		Kind: "storage#rewriteResponse", Done: true, ObjectSize: int64(made.Size), TotalBytesRewritten: int64(made.Size), Resource: made,
		ForceSendFields: []string{"ObjectSize", "TotalBytesRewritten"},
	}, nil
}

func (s *Server) copyObject(c *call) (any, error) {
	made, err := s.copyTo(c)
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (s *Server) copyTo(c *call) (*storage.Object, error) {
	given, err := decodeMetadata(c.request.Body)
	if err != nil {
		return nil, err
	}
	onSource, err := c.preconditions("ifSource")
	if err != nil {
		return nil, err
	}
	wants, err := c.preconditions("if")
	if err != nil {
		return nil, err
	}
	generation, err := c.generation("sourceGeneration")
	if err != nil {
		return nil, err
	}
	source, err := s.sourceObject(c, c.vars["bucket"], c.vars["object"], generation, onSource)
	if err != nil {
		return nil, err
	}
	wanted := copiedMetadata(source.Object, given)
	wanted.Name = c.vars["toObject"]
	if err := s.prepareObject(c, wanted, c.vars["toBucket"]); err != nil {
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
	wanted.ComponentCount, wanted.Crc32c, wanted.Md5Hash = source.ComponentCount, "", ""
	return &wanted
}

// copyContent links the content of an object under a new blob name.
func (s *Server) copyContent(source *object) (blobs.Blob, error) {
	id, err := s.blobs.Link(source.Blob)
	if errors.Is(err, fs.ErrNotExist) && s.replaced(source) {
		return blobs.Blob{}, storageError(http.StatusServiceUnavailable, "backendError", "The source was replaced meanwhile. Please retry.")
	}
	if err != nil {
		return blobs.Blob{}, err
	}
	return s.blobs.Finish(id)
}

// sourceObject returns an object that the call copies or composes.
func (s *Server) sourceObject(c *call, bucket, name string, generation int64, wants preconditions) (*object, error) {
	var found *object
	err := s.store.view(func(tx *bbolt.Tx) error {
		in, err := findBucket(tx, bucket)
		if err != nil {
			return err
		}
		if err := s.requireOn(tx, c, "storage.objects.get", objectResource(in.Project, bucket, name)); err != nil {
			return err
		}
		if found, err = requireObject(tx, bucket, name, generation); err != nil {
			return err
		}
		return wants.checkChange(numbers(found))
	})
	return found, err
}

// maxSources is the maximum number of objects that a compose call can join.
const maxSources = 32

// composeObject concatenates the contents of objects into a new object.
func (s *Server) composeObject(c *call) (any, error) {
	var request storage.ComposeRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	if n := len(request.SourceObjects); n == 0 || n > maxSources || slices.Contains(request.SourceObjects, nil) {
		return nil, invalidStorage("The number of source components provided (%d) must be between 1 and %d.", n, maxSources)
	}
	wants, err := c.preconditions("if")
	if err != nil {
		return nil, err
	}
	wanted := request.Destination
	if wanted == nil {
		wanted = &storage.Object{}
	}
	wanted.Name, wanted.ComponentCount = c.vars["object"], 0
	wanted.Crc32c, wanted.Md5Hash = "", ""
	if err := s.prepareObject(c, wanted, c.vars["bucket"]); err != nil {
		return nil, err
	}
	var contents []io.Reader
	for _, part := range request.SourceObjects {
		var onSource preconditions
		if part.ObjectPreconditions != nil && part.ObjectPreconditions.IfGenerationMatch != 0 {
			onSource.generationMatch = &part.ObjectPreconditions.IfGenerationMatch
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

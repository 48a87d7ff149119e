package bundle

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// readIndex reads the index of a layout.
func readIndex(r io.Reader) (*v1.IndexManifest, error) {
	content, err := io.ReadAll(io.LimitReader(r, store.LargestManifest))
	if err != nil {
		return nil, broken(indexFile+" is incomplete", err)
	}
	index := &v1.IndexManifest{}
	if err := json.Unmarshal(content, index); err != nil {
		return nil, broken(indexFile+" cannot be decoded", err)
	}
	return index, nil
}

// add stores a blob if its content has the digest in its name.
func add(ctx context.Context, s *store.Store, r io.Reader, name string, size int64) error {
	digest, err := v1.NewHash("sha256:" + name)
	if err != nil {
		return broken("a blob's name is not a digest", nil)
	}
	if found, err := s.Keep(ctx, digest); found || err != nil {
		return err
	}
	if err := s.Space("bundle", size); err != nil {
		return err
	}
	// The digest of the content is known at its end, so the blob gets its name only in Commit.
	file, err := s.Take(ctx, "import-"+strings.ToLower(rand.Text()))
	if err != nil {
		return err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, hash), r)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = broken("it is incomplete", err)
	}
	if err == nil && hex.EncodeToString(hash.Sum(nil)) != digest.Hex {
		err = broken("the blob "+digest.String()+" has other content", nil)
	}
	if err != nil {
		os.Remove(file.Name())
		file.Close()
		if fault.Of(err) == "" && ctx.Err() == nil {
			return store.Explain("bundle", err)
		}
		return err
	}
	return s.Commit(file, digest)
}

// contents returns the images that the index of a bundle lists, after a check that the store contains them.
func contents(s *store.Store, index *v1.IndexManifest) ([]Content, error) {
	var found []Content
	for _, target := range index.Manifests {
		name := target.Annotations[fullName]
		if name == "" {
			name = target.Annotations[refName]
		}
		if name != "" {
			parsed, err := pull.Parse(name)
			if err != nil {
				return nil, err
			}
			name = parsed.Name()
		}
		if err := complete(s, target); err != nil {
			return nil, err
		}
		target.Annotations = nil
		found = append(found, Content{Name: name, Target: target})
	}
	return found, nil
}

// complete checks that the store contains an image, or at least one image of an index: bundles contain one platform.
func complete(s *store.Store, target v1.Descriptor) error {
	content, err := s.Read(target.Digest)
	if err != nil {
		return err
	}
	if !target.MediaType.IsIndex() {
		var lost error
		err := s.Reachable(target, func(d v1.Descriptor) {
			if _, stored := s.Has(d.Digest); !stored {
				lost = broken("it does not contain "+d.Digest.String(), nil)
			}
		})
		return errors.Join(err, lost)
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(content, &index); err != nil {
		return broken("an index cannot be decoded", err)
	}
	for _, child := range index.Manifests {
		if _, stored := s.Has(child.Digest); stored && child.MediaType.IsImage() {
			return complete(s, child)
		}
	}
	return broken("it contains no image of the index "+target.Digest.String(), nil)
}

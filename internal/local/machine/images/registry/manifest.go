package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// mostParts bounds the blobs in a manifest: the registry looks for each.
const mostParts = 1000

// missing is the answer for content that the repository does not contain.
var missing = refusal{http.StatusNotFound, "BLOB_UNKNOWN", "the repository does not contain this blob"}

// blob answers with a blob, or a part of it.
func (c *call) blob() error {
	digest, err := v1.NewHash(c.argument)
	if err != nil {
		return refusal{http.StatusBadRequest, "DIGEST_INVALID", "the digest is invalid"}
	}
	if found, err := c.contains(digest); !found || err != nil {
		return errors.Join(err, missing)
	}
	file, err := c.store.Blob(digest)
	if err != nil {
		return missing
	}
	defer file.Close()
	c.Header().Set("Content-Type", "application/octet-stream")
	c.Header().Set("Docker-Content-Digest", digest.String())
	http.ServeContent(c.ResponseWriter, c.Request, "", time.Time{}, file)
	return nil
}

// Header returns the header of the answer, not that of the request.
func (c *call) Header() http.Header { return c.ResponseWriter.Header() }

// Write writes to the answer.
func (c *call) Write(p []byte) (int, error) { return c.ResponseWriter.Write(p) }

// reference returns the reference that the request names: a tag or a digest.
func (c *call) reference() (name.Reference, error) {
	separator := ":"
	if strings.Contains(c.argument, ":") {
		separator = "@"
	}
	reference, err := name.ParseReference(c.repository.Name()+separator+c.argument, name.StrictValidation)
	if err != nil {
		return nil, refusal{http.StatusBadRequest, "MANIFEST_INVALID", "the tag or digest is invalid"}
	}
	return reference, nil
}

// manifest answers with a manifest or index.
func (c *call) manifest() error {
	target, err := c.target()
	if err != nil {
		return err
	}
	content, err := c.store.Read(target.Digest)
	if err != nil {
		return err
	}
	c.Header().Set("Content-Type", string(target.MediaType))
	c.Header().Set("Docker-Content-Digest", target.Digest.String())
	c.Header().Set("Content-Length", strconv.Itoa(len(content)))
	if c.Method == http.MethodHead {
		return nil
	}
	_, err = c.Write(content)
	return err
}

// target returns the manifest that the request names. Manifests below a tag's index have no reference of their own.
func (c *call) target() (v1.Descriptor, error) {
	unknown := refusal{http.StatusNotFound, "MANIFEST_UNKNOWN", "the repository does not contain this manifest"}
	reference, err := c.reference()
	if err != nil {
		return v1.Descriptor{}, err
	}
	if target, err := c.store.Resolve(reference.Name()); err == nil {
		return target, nil
	}
	references, err := c.store.References()
	if err != nil {
		return v1.Descriptor{}, err
	}
	var found v1.Descriptor
	for _, other := range references {
		if repository, _, ok := c.own(other.Name); !ok || repository != c.repository.RepositoryStr() {
			continue
		}
		err := c.store.Reachable(other.Target, func(d v1.Descriptor) {
			if d.Digest.String() == c.argument && (d.MediaType.IsImage() || d.MediaType.IsIndex()) {
				found = d
			}
		})
		if err != nil {
			return v1.Descriptor{}, err
		}
	}
	if found.Digest.Hex == "" {
		return v1.Descriptor{}, unknown
	}
	return found, nil
}

// putManifest stores a manifest or index after a check that the repository contains its content.
func (c *call) putManifest() error {
	reference, err := c.reference()
	if err != nil {
		return err
	}
	content, err := io.ReadAll(http.MaxBytesReader(c, c.Body, store.LargestManifest))
	if err != nil {
		return refusal{http.StatusRequestEntityTooLarge, "MANIFEST_INVALID", "the manifest is too large or incomplete"}
	}
	kind, _, _ := strings.Cut(c.Request.Header.Get("Content-Type"), ";")
	target := v1.Descriptor{MediaType: types.MediaType(kind), Size: int64(len(content))}
	needed, err := c.check(target.MediaType, content)
	if err != nil {
		return err
	}
	if err := c.checkSignatures(target.MediaType, content); err != nil {
		return err
	}
	if target.Digest, _, err = v1.SHA256(bytes.NewReader(content)); err != nil {
		return err
	}
	if digest, isDigest := reference.(name.Digest); isDigest && digest.DigestStr() != target.Digest.String() {
		return refusal{http.StatusBadRequest, "DIGEST_INVALID", "the manifest has the digest " + target.Digest.String()}
	}
	byDigest := c.repository.Digest(target.Digest.String())
	if err := errors.Join(c.checkQuota(target.Size), c.checkNames(reference.Name(), byDigest.Name())); err != nil {
		return err
	}
	if _, err := c.store.Put(c.Context(), content); err != nil {
		return err
	}
	// Time passes between the push and the first pod of an image without a tag. The second reference, by digest, keeps the image
	// when a later push moves the tag.
	pushed := store.Marks{Pinned: true, Used: time.Now()}
	if err := c.refer(c.Context(), reference,
		store.Reference{Name: reference.Name(), Target: target, Marks: pushed},
		store.Reference{Name: byDigest.Name(), Target: target, Marks: pushed}); err != nil {
		return err
	}
	// A manifest names these blobs now, so they no longer count as uploads without one.
	c.mutex.Lock()
	for _, d := range needed {
		delete(c.uploaded, c.key(d.Digest))
	}
	c.mutex.Unlock()
	c.Header().Set("Location", fmt.Sprintf("/v2/%s/manifests/%s", c.repository.RepositoryStr(), target.Digest))
	c.Header().Set("Docker-Content-Digest", target.Digest.String())
	c.WriteHeader(http.StatusCreated)
	if _, isTag := reference.(name.Tag); isTag && c.Pushed != nil && !strings.HasPrefix(c.argument, "sha256-") {
		c.Pushed(c.repository.RepositoryStr())
	}
	return nil
}

// check verifies that a manifest can be decoded and that the repository contains everything that it names, and returns the
// names.
func (c *call) check(kind types.MediaType, content []byte) ([]v1.Descriptor, error) {
	if !kind.IsImage() && !kind.IsIndex() {
		return nil, refusal{http.StatusBadRequest, "MANIFEST_INVALID", "the registry stores images and indexes of OCI and Docker only"}
	}
	var manifest struct {
		Manifests []v1.Descriptor `json:"manifests"`
		Config    *v1.Descriptor  `json:"config"`
		Layers    []v1.Descriptor `json:"layers"`
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return nil, refusal{http.StatusBadRequest, "MANIFEST_INVALID", "the manifest cannot be decoded"}
	}
	needed := slices.Concat(manifest.Manifests, manifest.Layers)
	if kind.IsImage() {
		if manifest.Config == nil {
			return nil, refusal{http.StatusBadRequest, "MANIFEST_INVALID", "the manifest has no configuration"}
		}
		needed = append(needed, *manifest.Config)
	}
	if len(needed) > mostParts {
		return nil, refusal{http.StatusBadRequest, "MANIFEST_INVALID", fmt.Sprintf("a manifest names at most %d blobs", mostParts)}
	}
	for _, d := range needed {
		found, err := c.contains(d.Digest)
		if err != nil {
			return nil, err
		}
		if size, stored := c.store.Has(d.Digest); !found || !stored || size != d.Size {
			return nil, refusal{http.StatusNotFound, "MANIFEST_BLOB_UNKNOWN", "the repository does not contain " + d.Digest.String() + " with this size"}
		}
	}
	return needed, nil
}

// deleteManifest removes a tag, or all references to a digest. Garbage collection removes the content.
func (c *call) deleteManifest() error {
	if _, err := c.target(); err != nil {
		return err
	}
	references, err := c.store.References()
	if err != nil {
		return err
	}
	var names []string
	for _, reference := range references {
		repository, identifier, ok := c.own(reference.Name)
		if ok && repository == c.repository.RepositoryStr() && (identifier == c.argument || reference.Target.Digest.String() == c.argument) {
			names = append(names, reference.Name)
		}
	}
	if err := c.store.Forget(c.Context(), names...); err != nil {
		return err
	}
	c.WriteHeader(http.StatusAccepted)
	return nil
}

package registry

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// mostUploads bounds the unfinished uploads: each has an open file. ownUploads bounds those below one namespace, so that no team
// uses up those of others. An upload without a request for the time idle ends.
const mostUploads, ownUploads, idle = 256, 64, time.Hour

// upload is an unfinished blob. Its requests follow each other.
type upload struct {
	mutex      sync.Mutex
	repository string
	file       *os.File
	hash       hash.Hash
	size       int64
	// used is the time of the last request, and received the number of bytes so far, with those of an unfinished request. The
	// server's mutex protects both.
	used     time.Time
	received int64
}

// serveUpload serves the requests of the specification's uploads: POST begins one, PATCH appends, PUT ends it.
func (c *call) serveUpload() error {
	if c.Method == http.MethodPost && c.argument == "" {
		return c.begin()
	}
	c.mutex.Lock()
	u := c.uploads[c.argument]
	if u != nil {
		u.used = time.Now()
	}
	c.mutex.Unlock()
	if u == nil || u.repository != c.repository.RepositoryStr() {
		return refusal{http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "the upload does not exist: begin it again"}
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	switch c.Method {
	case http.MethodPatch:
		if err := c.append(u); err != nil {
			return err
		}
		return c.progress(u, http.StatusAccepted)
	case http.MethodGet:
		return c.progress(u, http.StatusNoContent)
	case http.MethodPut:
		if err := c.append(u); err != nil {
			return err
		}
		return c.finish(u)
	case http.MethodDelete:
		c.drop(u)
		c.WriteHeader(http.StatusNoContent)
		return nil
	}
	return refusal{http.StatusMethodNotAllowed, "UNSUPPORTED", "an upload does not support this method"}
}

// begin starts an upload. A blob that the repository contains already, or a whole blob in one request, ends it at once.
func (c *call) begin() error {
	if mounted, err := v1.NewHash(c.URL.Query().Get("mount")); err == nil {
		found, err := c.contains(mounted)
		if err != nil {
			return err
		}
		if found {
			return c.created(mounted)
		}
	}
	id := strings.ToLower(rand.Text())
	file, err := c.store.Take(c.Context(), "upload-"+id)
	if err != nil {
		return err
	}
	u := &upload{repository: c.repository.RepositoryStr(), file: file, hash: sha256.New(), used: time.Now()}
	c.argument = id
	namespace, _, _ := strings.Cut(u.repository, "/")
	own := 0
	c.mutex.Lock()
	for other, u := range c.uploads {
		if time.Since(u.used) > idle {
			os.Remove(u.file.Name())
			u.file.Close()
			delete(c.uploads, other)
		} else if strings.HasPrefix(u.repository, namespace+"/") {
			own++
		}
	}
	full := len(c.uploads) >= mostUploads || own >= ownUploads
	if !full {
		c.uploads[id] = u
	}
	c.mutex.Unlock()
	if full {
		c.drop(u)
		return refusal{http.StatusTooManyRequests, "TOOMANYREQUESTS", "too many unfinished uploads: wait until others end"}
	}
	if c.URL.Query().Has("digest") {
		u.mutex.Lock()
		defer u.mutex.Unlock()
		if err := c.append(u); err != nil {
			return err
		}
		return c.finish(u)
	}
	return c.progress(u, http.StatusAccepted)
}

// append writes the body of the request to the end of the upload. An error other than a wrong range ends the upload.
func (c *call) append(u *upload) error {
	if part := c.Request.Header.Get("Content-Range"); part != "" && !strings.HasPrefix(part, fmt.Sprintf("%d-", u.size)) {
		return refusal{http.StatusRequestedRangeNotSatisfiable, "BLOB_UPLOAD_INVALID", fmt.Sprintf("the upload continues at byte %d", u.size)}
	}
	if err := c.store.Space("upload", max(c.ContentLength, 0)); err != nil {
		c.drop(u)
		return err
	}
	var stored int64
	if c.grant.Quota != 0 {
		var err error
		if stored, _, err = c.usage(); err != nil {
			return err
		}
	}
	n, err := io.Copy(io.MultiWriter(meter{c, u, stored}, c.store.Writer("upload", u.file), u.hash), io.LimitReader(c.Body, c.largest-u.size+1))
	u.size += n
	if err == nil && u.size > c.largest {
		err = fault.New(fault.TooLarge, "upload", "a blob has at most %d bytes", c.largest)
	}
	if err != nil {
		c.drop(u)
		return store.Explain("upload", err)
	}
	return nil
}

// finish makes the upload a blob if its content has the digest.
func (c *call) finish(u *upload) error {
	digest, err := v1.NewHash(c.URL.Query().Get("digest"))
	if err != nil {
		c.drop(u)
		return refusal{http.StatusBadRequest, "DIGEST_INVALID", "the digest is invalid"}
	}
	if got := hex.EncodeToString(u.hash.Sum(nil)); digest.Algorithm != "sha256" || got != digest.Hex {
		c.drop(u)
		return refusal{http.StatusBadRequest, "DIGEST_INVALID", "the content has the digest sha256:" + got}
	}
	if err := errors.Join(c.checkQuota(0), c.checkBlobs()); err != nil {
		c.drop(u)
		return err
	}
	if err := c.store.Commit(u.file, digest); err != nil {
		c.drop(u)
		return err
	}
	defer c.forget()
	return c.created(digest)
}

// created answers that the repository contains a blob.
func (c *call) created(digest v1.Hash) error {
	if found, err := c.store.Keep(c.Context(), digest); err != nil || !found {
		return fmt.Errorf("keep blob %s: %w", digest, err)
	}
	// The upload counts for the quota until the blob does.
	c.mutex.Lock()
	c.uploaded[c.key(digest)] = true
	delete(c.uploads, c.argument)
	c.mutex.Unlock()
	c.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/%s", c.repository.RepositoryStr(), digest))
	c.Header().Set("Docker-Content-Digest", digest.String())
	c.WriteHeader(http.StatusCreated)
	return nil
}

// progress answers with the size and the address of an upload.
func (c *call) progress(u *upload, status int) error {
	c.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/uploads/%s", c.repository.RepositoryStr(), c.argument))
	c.Header().Set("Docker-Upload-Uuid", c.argument)
	c.Header().Set("Range", fmt.Sprintf("0-%d", max(u.size-1, 0)))
	c.WriteHeader(status)
	return nil
}

// drop ends an upload and deletes its file.
func (c *call) drop(u *upload) {
	c.forget()
	os.Remove(u.file.Name())
	u.file.Close()
}

// forget removes the upload of the request from the list.
func (c *call) forget() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.uploads, c.argument)
}

// Close ends all unfinished uploads.
func (s *Server) Close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for id, u := range s.uploads {
		os.Remove(u.file.Name())
		u.file.Close()
		delete(s.uploads, id)
	}
}

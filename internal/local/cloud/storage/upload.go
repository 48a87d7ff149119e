package storage

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

// upload is the record of a resumable upload. The store also keeps finished uploads, so that a client that missed the
// last response can repeat its request.
type upload struct {
	ID     string          `json:"id"`
	Object *storage.Object `json:"object"` // the wanted metadata; after the end, the created object
	Query  string          `json:"query"`  // of the first request, with the preconditions
	Member string          `json:"member"` // who began the upload
	Begun  time.Time       `json:"begun"`
	// Blob is the content so far. The emulator acknowledged its first Received bytes.
	Blob     string `json:"blob"`
	Received int64  `json:"received"`
	Done     bool   `json:"done,omitempty"`
}

// uploadLifetime is the time for which a client can resume an upload.
const uploadLifetime = 7 * 24 * time.Hour

// beginOrContinueUpload begins a resumable upload, or continues the one with upload_id. The first request checks the metadata and
// the permission, before the client sends any content.
func (s *service) beginOrContinueUpload(c *api.Call) (any, error) {
	if c.Request.URL.Query().Get("upload_id") != "" {
		return s.continueUpload(c)
	}
	wanted, err := decodeMetadata(c.Request.Body)
	if err != nil {
		return nil, err
	}
	api.SetDefault(&wanted.ContentType, c.Request.Header.Get("X-Upload-Content-Type"))
	if _, err := rest.QueryPreconditions(c, "if"); err != nil {
		return nil, err
	}
	if err := s.prepareObject(c, wanted, c.Vars["bucket"]); err != nil {
		return nil, err
	}
	begun := &upload{ID: api.RandomText(40), Object: wanted, Query: c.Request.URL.RawQuery, Member: c.Who.Member, Begun: s.Now()}
	if begun.Blob, err = s.blobs.Begin(); err != nil {
		return nil, err
	}
	if err := s.keepUpload(begun); err != nil {
		return nil, errors.Join(err, s.blobs.Remove(begun.Blob))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		query := url.Values{"uploadType": {"resumable"}, "name": {wanted.Name}, "upload_id": {begun.ID}}
		w.Header().Set("Location", scheme+"://"+r.Host+"/upload/storage/v1/b/"+wanted.Bucket+"/o?"+query.Encode())
		w.Header().Set("X-GUploader-UploadID", begun.ID)
	}), nil
}

func (s *service) keepUpload(u *upload) error {
	return s.Store.Update(func(tx *bbolt.Tx) error { return store.Put(tx, uploads, u.ID, u) })
}

// upload returns the upload that the call continues, locked. The caller must call unlock. Only the member that began
// an upload can continue it.
func (s *service) upload(c *api.Call) (found *upload, unlock func(), err error) {
	id := c.Request.URL.Query().Get("upload_id")
	if _, busy := s.uploading.LoadOrStore(id, true); busy {
		return nil, nil, api.LegacyError(http.StatusServiceUnavailable, "backendError", "Another request writes to this upload. Please retry.")
	}
	err = s.Store.View(func(tx *bbolt.Tx) (err error) {
		found, err = store.Get[upload](tx, uploads, id)
		if err == nil && (found == nil || found.Member != c.Who.Member || found.Object.Bucket != c.Vars["bucket"]) {
			return api.LegacyError(http.StatusNotFound, "notFound", "No such upload. Begin it again.")
		}
		return err
	})
	unlock = func() { s.uploading.Delete(id) }
	if err != nil {
		unlock()
	}
	return found, unlock, err
}

// continueUpload appends the next part of an upload, or reports the number of bytes so far. The last part creates the
// object.
func (s *service) continueUpload(c *api.Call) (any, error) {
	part, err := parseContentRange(c)
	if err != nil {
		return nil, err
	}
	u, unlock, err := s.upload(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if u.Done {
		return objectResponse(u.Object), nil
	}
	if part.first >= 0 && part.first <= u.Received {
		if err := s.receive(c, u, part.first); err != nil {
			return nil, err
		}
	}
	switch {
	case part.total < 0 || u.Received < part.total:
		return u.incomplete(), nil
	case u.Received > part.total:
		return nil, api.LegacyInvalid("The upload has %d bytes, which is more than the %d it was to have.", u.Received, part.total)
	}
	return s.finishUpload(c, u)
}

// receive appends a part to the content and skips the bytes that are already there. If the part is incomplete, receive
// keeps the bytes before the failure.
func (s *service) receive(c *api.Call, u *upload, first int64) error {
	if _, err := io.CopyN(io.Discard, c.Request.Body, u.Received-first); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return brokenUpload(err)
	}
	size, fault := s.blobs.Append(u.Blob, u.Received, c.Request.Body)
	if size > u.Received {
		u.Received = size
		fault = errors.Join(fault, s.keepUpload(u))
	}
	if fault != nil {
		return brokenUpload(fault)
	}
	return nil
}

// incomplete returns the response that requests the next part. Google's clients request a header with this meaning,
// because other clients treat the status 308 as a redirect.
func (u *upload) incomplete() http.Handler {
	received := u.Received
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if received > 0 {
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", received-1))
		}
		w.Header().Set("Content-Length", "0")
		if r.Header.Get("X-GUploader-No-308") == "yes" {
			w.Header().Set("X-Http-Status-Code-Override", "308")
			return
		}
		w.WriteHeader(http.StatusPermanentRedirect)
	})
}

// finishUpload creates the object from the received content. It applies the preconditions of the first request, as Cloud Storage
// does, and stores the object and the end of the upload in one transaction, so that a repeated last request gets the object.
func (s *service) finishUpload(c *api.Call, u *upload) (any, error) {
	query, err := url.ParseQuery(u.Query)
	if err != nil {
		return nil, err
	}
	wants, err := rest.ReadPreconditions(query.Get, "if", func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	content, err := s.blobs.Finish(u.Blob)
	if err != nil {
		return nil, err
	}
	made, err := s.commitObject(c, u.Object, content, wants, func(tx *bbolt.Tx, made *storage.Object) error {
		u.Object, u.Done, u.Blob = made, true, ""
		return store.Put(tx, uploads, u.ID, u)
	})
	if err != nil {
		// The blob of the upload does not exist, so that no client can resume the upload.
		return nil, errors.Join(err, s.Store.Update(func(tx *bbolt.Tx) error { return store.Remove(tx, uploads, u.ID) }))
	}
	return made, nil
}

// clientClosedRequest is the status of Cloud Storage's response to the cancellation of an upload.
const clientClosedRequest = 499

func (s *service) cancelUpload(c *api.Call) (any, error) {
	u, unlock, err := s.upload(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := s.Store.Update(func(tx *bbolt.Tx) error { return store.Remove(tx, uploads, u.ID) }); err != nil {
		return nil, err
	}
	s.drop([]string{u.Blob})
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(clientClosedRequest) }), nil
}

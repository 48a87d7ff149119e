package storage

import (
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/storage/buckets"
	"github.com/strata-platform/strata/internal/local/cloud/storage/rest"
)

// getObject returns the metadata of an object, or with alt=media its content.
func (s *service) getObject(c *api.Call) (any, error) {
	if c.Request.URL.Query().Get("alt") == "media" {
		return s.downloadObject(c)
	}
	found, err := s.readObject(c)
	if err != nil {
		return nil, err
	}
	return objectResponse(found.Object), nil
}

// readObject returns the generation of an object that the call reads. In the XML API, preconditions are headers.
func (s *service) readObject(c *api.Call) (*object, error) {
	generation, err := queryGeneration(c, "generation")
	if err != nil {
		return nil, err
	}
	inQuery, err := rest.QueryPreconditions(c, "if")
	if err != nil {
		return nil, err
	}
	inHeader, err := rest.ReadPreconditions(c.Request.Header.Get, "ifGoog", xmlHeader)
	if err != nil {
		return nil, err
	}
	var found *object
	err = s.Store.View(func(tx *bbolt.Tx) error {
		if found, err = s.visibleObject(tx, c, generation); err != nil {
			return err
		}
		if err := inQuery.CheckRead(numbers(found)); err != nil {
			return err
		}
		return inHeader.CheckRead(numbers(found))
	})
	return found, err
}

// xmlHeader returns the XML API's header for the query parameter of a precondition, such as ifGoogGenerationMatch.
func xmlHeader(name string) string {
	name = strings.TrimPrefix(name, "ifGoog")
	name = strings.NewReplacer("NotMatch", "-not-match", "Match", "-match").Replace(name)
	return "x-goog-if-" + strings.ToLower(name)
}

// visibleObject is requireObject for a read. A caller without storage.objects.list does not learn whether an object
// exists.
func (s *service) visibleObject(tx *bbolt.Tx, c *api.Call, generation int64) (*object, error) {
	found, err := requireObject(tx, c.Vars["bucket"], c.Vars["object"], generation)
	if found == nil && err != nil {
		if hidden := s.requireOn(tx, c, "storage.objects.list", buckets.OnBucket(c)); hidden != nil {
			return nil, hidden
		}
	}
	return found, err
}

// downloadObject returns the content of an object.
func (s *service) downloadObject(c *api.Call) (any, error) {
	for {
		found, err := s.readObject(c)
		if err != nil {
			return nil, err
		}
		file, err := s.blobs.Open(found.Blob)
		if errors.Is(err, fs.ErrNotExist) && s.replaced(found) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the content of %s/%s: %w", found.Object.Bucket, found.Object.Name, err)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer file.Close()
			sendObject(w, r, found.Object, file)
		}), nil
	}
}

// replaced reports whether a generation that the caller has read no longer exists.
func (s *service) replaced(old *object) bool {
	gone := false
	err := s.Store.View(func(tx *bbolt.Tx) error {
		now, err := store.Get[object](tx, objects, objectKey(old.Object))
		gone = now == nil
		return err
	})
	return err == nil && gone
}

// sendObject sends the content of an object with the headers of Cloud Storage. Clients verify the content with X-Goog-Hash.
func sendObject(w http.ResponseWriter, r *http.Request, o *storage.Object, content *os.File) {
	header := w.Header()
	for name, value := range map[string]string{
		"Cache-Control": o.CacheControl, "Content-Disposition": o.ContentDisposition, "Content-Language": o.ContentLanguage,
		"Content-Type": o.ContentType, "ETag": `"` + o.Etag + `"`, "X-Goog-Storage-Class": o.StorageClass,
		"X-Goog-Generation":              strconv.FormatInt(o.Generation, 10),
		"X-Goog-Metageneration":          strconv.FormatInt(o.Metageneration, 10),
		"X-Goog-Stored-Content-Encoding": o.ContentEncoding,
		"X-Goog-Stored-Content-Length":   strconv.FormatUint(o.Size, 10),
	} {
		if value != "" {
			header.Set(name, value)
		}
	}
	for name, value := range o.Metadata {
		header.Set("X-Goog-Meta-"+name, value)
	}
	header.Add("X-Goog-Hash", "crc32c="+o.Crc32c)
	if o.Md5Hash != "" {
		header.Add("X-Goog-Hash", "md5="+o.Md5Hash)
	}
	if o.ContentEncoding == "" {
		header.Set("X-Goog-Stored-Content-Encoding", "identity")
	}
	if o.ContentEncoding == "gzip" && !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		sendDecompressed(w, r, content)
		return
	}
	if o.ContentEncoding != "" {
		header.Set("Content-Encoding", o.ContentEncoding)
	}
	changed, err := time.Parse(time.RFC3339, o.Updated)
	if err != nil {
		changed = time.Time{}
	}
	http.ServeContent(w, r, "", changed, content)
}

// sendDecompressed decompresses a gzip content for a client that does not accept gzip.
func sendDecompressed(w http.ResponseWriter, r *http.Request, content io.Reader) {
	plain, err := gzip.NewReader(content)
	if err != nil {
		api.WriteError(w, api.LegacyError(http.StatusServiceUnavailable, "backendError", "The content is not in the encoding that its metadata says: %v.", err))
		return
	}
	w.Header().Set("Warning", "214 UploadServer gunzipped")
	if r.Method != http.MethodHead {
		_, _ = io.Copy(w, plain) //nolint:gosec // the caller requested all of it
	}
}

// xmlError is an error response of the XML API.
type xmlError struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
	Details string `xml:",omitempty"`
}

// writeXMLError writes err as the response to a call of the XML API.
func writeXMLError(w http.ResponseWriter, err error) {
	refusal, ok := errors.AsType[*api.Error](err)
	if !ok || refusal.Code == http.StatusNotModified {
		api.WriteError(w, err)
		return
	}
	body := xmlError{Code: "InvalidArgument", Message: "Invalid argument.", Details: refusal.Message}
	switch refusal.Code {
	case http.StatusUnauthorized:
		body.Code, body.Message = "AuthenticationRequired", "Authentication required."
	case http.StatusForbidden:
		body.Code, body.Message = "AccessDenied", "Access denied."
	case http.StatusNotFound:
		body.Code, body.Message = "NoSuchKey", "The specified key does not exist."
	case http.StatusPreconditionFailed:
		body.Code, body.Message = "PreconditionFailed", "At least one of the pre-conditions you specified did not hold."
	}
	data, err := xml.Marshal(body)
	if err != nil {
		api.WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/xml; charset=UTF-8")
	w.WriteHeader(refusal.Code)
	_, _ = fmt.Fprintf(w, "<?xml version='1.0' encoding='UTF-8'?>%s", data)
}

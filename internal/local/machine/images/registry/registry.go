// Package registry serves the store of images as a registry, by the OCI distribution specification: clients such as docker,
// crane and skopeo push and pull. Each repository shows only content that was pushed to it.
package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// Grant is the set of permissions of an account.
type Grant struct {
	// Pull and Push decide on a repository, such as "team-web/app". Nil allows none.
	Pull, Push func(repository string) bool
	// Quota bounds, in bytes, the content of all repositories that Push allows, compressed as pushed. Zero means no bound.
	Quota int64
	// Names bounds the tags and digests of all repositories that Push allows, and as many blobs that no manifest names yet:
	// the registry looks through all of them, however small they are. Zero means no bound.
	Names int
}

// Login returns the rights of an account, and false if the user or the password is wrong. It is called for every request,
// with empty arguments for a request without credentials.
type Login func(user, password string) (Grant, bool)

// Server is the registry: an http.Handler for the root of its address.
type Server struct {
	store *store.Store
	host  string
	login Login
	// largest bounds one blob in bytes.
	largest int64
	// Pushed is called after the push of a tag other than one for signatures, with the repository; nil means never. Set it
	// before the first request.
	Pushed func(repository string)

	// tagging is held during the push of a version's tag.
	tagging sync.Mutex

	mutex sync.Mutex
	// uploads are the unfinished uploads by their IDs.
	uploads map[string]*upload
	// uploaded holds the blobs that clients have uploaded and not yet named in a manifest, as repository@digest.
	uploaded map[string]bool
}

// New returns a registry of the images in a store. The host, such as "localhost:5000", is the first part of their references.
// largest bounds one blob in bytes.
func New(s *store.Store, host string, largest int64, login Login) *Server {
	return &Server{store: s, host: host, largest: largest, login: login, uploads: map[string]*upload{}, uploaded: map[string]bool{}}
}

// call is one request to a repository.
type call struct {
	http.ResponseWriter
	*http.Request
	*Server
	grant      Grant
	repository name.Repository
	// argument is the last part of the path: a digest, a tag, or an upload's ID.
	argument string
}

// path matches the requests to a repository: the repository, the kind of object, and the argument.
var path = regexp.MustCompile(`^/v2/(.+)/(blobs/uploads|blobs|manifests|tags)/([^/]*)$`)

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	user, password, _ := r.BasicAuth()
	grant, known := s.login(user, password)
	if !known {
		w.Header().Set("WWW-Authenticate", `Basic realm="strata"`)
		fail(w, refusal{http.StatusUnauthorized, "UNAUTHORIZED", "log in with an account of this platform"})
		return
	}
	var err error
	parts := path.FindStringSubmatch(r.URL.Path)
	switch {
	case r.URL.Path == "/v2/" || r.URL.Path == "/v2":
		w.Header().Set("Content-Type", "application/json")
		_, err = w.Write([]byte("{}"))
	case r.URL.Path == "/v2/_catalog":
		err = s.catalog(w, grant)
	case parts == nil:
		err = refusal{http.StatusNotFound, "UNSUPPORTED", "this registry does not know the path"}
	default:
		err = s.repository(w, r, grant, parts[1], parts[2], parts[3])
	}
	if err != nil {
		fail(w, err)
	}
}

// repository serves a request to a repository after a check of the rights.
func (s *Server) repository(w http.ResponseWriter, r *http.Request, grant Grant, path, kind, argument string) error {
	repository, err := name.NewRepository(s.host+"/"+path, name.StrictValidation)
	if err != nil || repository.RegistryStr() != s.host {
		return refusal{http.StatusBadRequest, "NAME_INVALID", "the name of the repository is invalid"}
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	allowed := grant.Push
	if reads && kind != "blobs/uploads" {
		allowed = grant.Pull
	}
	if allowed == nil || !allowed(repository.RepositoryStr()) {
		return refusal{http.StatusForbidden, "DENIED", "this account has no such right on the repository"}
	}
	c := &call{w, r, s, grant, repository, argument}
	switch {
	case kind == "blobs/uploads":
		return c.serveUpload()
	case kind == "blobs" && reads:
		return c.blob()
	case kind == "manifests" && reads:
		return c.manifest()
	case kind == "manifests" && r.Method == http.MethodPut:
		return c.putManifest()
	case kind == "manifests" && r.Method == http.MethodDelete:
		return c.deleteManifest()
	case kind == "tags" && reads && argument == "list":
		return c.tags()
	}
	return refusal{http.StatusMethodNotAllowed, "UNSUPPORTED", "this registry does not support the method on this path"}
}

// refusal is an error answer with a code of the specification.
type refusal struct {
	status        int
	code, message string
}

// Error returns the message.
func (r refusal) Error() string { return r.message }

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	answer := refusal{http.StatusInternalServerError, "UNKNOWN", "the registry failed: see its log"}
	var refused refusal
	switch kind := fault.Of(err); {
	case errors.As(err, &refused):
		answer = refused
	case kind == fault.NotFound:
		answer = refusal{http.StatusNotFound, "MANIFEST_UNKNOWN", err.Error()}
	case kind == fault.NoSpace:
		answer = refusal{http.StatusInsufficientStorage, "DENIED", err.Error()}
	case kind == fault.TooLarge:
		answer = refusal{http.StatusRequestEntityTooLarge, "SIZE_INVALID", err.Error()}
	case kind == fault.Corrupt:
		answer = refusal{http.StatusBadRequest, "DIGEST_INVALID", err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.status)
	// The client is gone if the write fails.
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []map[string]string{{"code": answer.code, "message": answer.message}}})
}

// catalog lists the repositories that the account may pull from.
func (s *Server) catalog(w http.ResponseWriter, grant Grant) error {
	references, err := s.store.References()
	if err != nil {
		return err
	}
	found := []string{}
	for _, reference := range references {
		repository, _, ok := s.own(reference.Name)
		if ok && grant.Pull != nil && grant.Pull(repository) && (len(found) == 0 || found[len(found)-1] != repository) {
			found = append(found, repository)
		}
	}
	return answerJSON(w, map[string]any{"repositories": found})
}

// own splits a reference of this registry into its repository and its tag or digest.
func (s *Server) own(reference string) (repository, identifier string, ok bool) {
	parsed, err := name.ParseReference(reference)
	if err != nil || parsed.Context().RegistryStr() != s.host {
		return "", "", false
	}
	return parsed.Context().RepositoryStr(), parsed.Identifier(), true
}

// tags lists the tags of a repository.
func (c *call) tags() error {
	references, err := c.store.References()
	if err != nil {
		return err
	}
	tags := []string{}
	for _, reference := range references {
		if repository, identifier, ok := c.own(reference.Name); ok && repository == c.repository.RepositoryStr() && !strings.Contains(identifier, ":") {
			tags = append(tags, identifier)
		}
	}
	return answerJSON(c, map[string]any{"name": c.repository.RepositoryStr(), "tags": tags})
}

// contains reports whether the repository contains a blob: clients may read no content of other repositories by its digest.
func (c *call) contains(digest v1.Hash) (bool, error) {
	c.mutex.Lock()
	uploaded := c.uploaded[c.key(digest)]
	c.mutex.Unlock()
	if uploaded {
		return true, nil
	}
	references, err := c.store.References()
	if err != nil {
		return false, err
	}
	found := false
	for _, reference := range references {
		if repository, _, ok := c.own(reference.Name); ok && repository == c.repository.RepositoryStr() {
			err := c.store.Reachable(reference.Target, func(d v1.Descriptor) { found = found || d.Digest == digest })
			if found || err != nil {
				return found, err
			}
		}
	}
	return false, nil
}

// key is the key of a blob in uploaded.
func (c *call) key(digest v1.Hash) string {
	return fmt.Sprintf("%s@%s", c.repository.RepositoryStr(), digest)
}

// answerJSON answers with a value.
func answerJSON(w http.ResponseWriter, value any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(value)
}

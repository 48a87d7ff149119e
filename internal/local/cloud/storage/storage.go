// Package storage emulates Cloud Storage: its JSON API, and the reads of its XML API.
package storage

import (
	"net/http"
	"strings"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/storage/blobs"
	"github.com/strata-platform/strata/internal/local/cloud/storage/buckets"
)

const (
	objects store.Table = "storageObjects" // <bucket> <name> <generation>, with NUL between them
	uploads store.Table = "storageUploads" // <upload>
)

// Tables returns the tables of the service.
func Tables() []store.Table { return []store.Table{buckets.Table, objects, uploads} }

// service handles the calls about objects.
type service struct {
	*core.Core
	service *api.Service
	// blobs holds the contents of objects. uploading holds the IDs of uploads that a request is writing to.
	blobs     *blobs.Store
	uploading sync.Map
}

// Register adds the Cloud Storage API to the emulator. It keeps the contents of objects in a folder.
func Register(c *core.Core, dir string) error {
	contents, err := blobs.Open(dir)
	if err != nil {
		return err
	}
	s := &service{Core: c, blobs: contents}
	s.service = &api.Service{
		Name:       "storage.googleapis.com",
		Title:      "Cloud Storage API",
		Prefix:     "storage",
		Scopes:     []string{"https://www.googleapis.com/auth/devstorage.full_control", "https://www.googleapis.com/auth/devstorage.read_write"},
		ReadScopes: []string{"https://www.googleapis.com/auth/devstorage.read_only", "https://www.googleapis.com/auth/cloud-platform.read-only"},
		Project:    project,
		Denied:     denied,
		Routes:     append(buckets.Routes(c, isEmpty), s.objectRoutes()...),
		HostPath:   storagePath,
		OtherPath:  s.otherPath,
		WriteError: writeError,
	}
	c.Register(s.service)
	return s.sweep()
}

func (s *service) objectRoutes() []api.Route {
	const (
		files  = "storage/v1/b/{bucket}/o"
		file   = files + "/{object}"
		to     = "/b/{toBucket}/o/{toObject}"
		upload = "upload/storage/v1/b/{bucket}/o"
		public = "xml/{bucket}/{object}"
	)
	return []api.Route{
		{Method: "GET", Pattern: files, Permission: "storage.objects.list", On: buckets.OnBucket, Handle: s.listObjects},
		{Method: "GET", Pattern: file, Permission: "storage.objects.get", On: onObject, Handle: s.getObject},
		{Method: "GET", Pattern: "download/storage/v1/b/{bucket}/o/{object}", Permission: "storage.objects.get", On: onObject, Handle: s.downloadObject},
		{Method: "GET", Pattern: public, Permission: "storage.objects.get", On: onObject, Handle: s.downloadObject},
		{Method: "HEAD", Pattern: public, Permission: "storage.objects.get", On: onObject, Handle: s.downloadObject},
		{Method: "PATCH", Pattern: file, Permission: "storage.objects.update", On: onObject, Handle: s.patchObject},
		{Method: "PUT", Pattern: file, Permission: "storage.objects.update", On: onObject, Handle: s.updateObject},
		{Method: "DELETE", Pattern: file, Permission: "storage.objects.delete", On: onObject, Handle: s.deleteObject},
		// The calls below name an object in the request's body, or more than one object. Their handlers check the
		// permissions.
		{Method: "POST", Pattern: file + "/compose", Handle: s.composeObject},
		{Method: "POST", Pattern: file + "/rewriteTo" + to, Handle: s.rewriteObject},
		{Method: "POST", Pattern: file + "/copyTo" + to, Handle: s.copyObject},
		{Method: "POST", Pattern: upload, Handle: s.insertObject},
		{Method: "POST", Pattern: files, Handle: s.insertObject},
		{Method: "PUT", Pattern: upload, Handle: s.continueUpload},
		{Method: "DELETE", Pattern: upload, Handle: s.cancelUpload},
	}
}

// storagePath returns the emulator's path of a request to storage.googleapis.com. Google's clients resolve the paths
// of uploads against the host alone, whatever their endpoint is. They read contents by the path of the older XML API:
// /BUCKET/OBJECT.
func storagePath(escaped string) string {
	escaped = strings.TrimPrefix(escaped, "/resumable")
	for _, prefix := range []string{"/storage/v1/", "/upload/storage/v1/", "/download/storage/v1/"} {
		if rest, ok := strings.CutPrefix(escaped, prefix); ok {
			return "/storage" + prefix + rest
		}
	}
	bucket, object, _ := strings.Cut(strings.TrimPrefix(escaped, "/"), "/")
	return xmlPrefix + bucket + "/" + strings.ReplaceAll(object, "/", "%2F")
}

// xmlPrefix begins the paths of the XML API.
const xmlPrefix = "/storage/xml/"

// project returns the project of the call's bucket, or the project in the call's query.
func project(tx *bbolt.Tx, c *api.Call) (string, error) {
	if c.Vars["bucket"] == "" {
		about := c.Request.URL.Query().Get("project")
		if about == "" {
			return "", api.LegacyError(http.StatusBadRequest, "required", "Required parameter: project")
		}
		// The text may be an ID or a number. The permission check uses the text even if there is no such project, and
		// then rejects the call.
		c.Vars["project"] = about
		return about, nil
	}
	found, err := buckets.Find(tx, c.Vars["bucket"])
	if err != nil {
		return "", err
	}
	return found.Project, nil
}

func objectResource(project, bucket, object string) api.Resource {
	path := "projects/_/buckets/" + bucket + "/objects/" + object
	return api.Resource{Project: project, Name: path, Policy: buckets.PolicyKey(bucket), Path: path, Kind: "storage.googleapis.com/Object"}
}

// onObject returns an object as the resource of a permission check. Only buckets have policies.
func onObject(c *api.Call) api.Resource {
	return objectResource(c.ProjectID(), c.Vars["bucket"], c.Vars["object"])
}

func denied(who api.Principal, permission string, on api.Resource) *api.Error {
	kind := "Google Cloud project"
	switch on.Kind {
	case "storage.googleapis.com/Object":
		kind = "Google Cloud Storage object"
	case "storage.googleapis.com/Bucket":
		kind = "Google Cloud Storage bucket"
	}
	return api.LegacyError(http.StatusForbidden, "forbidden", "%s does not have %s access to the %s. Permission '%s' denied on resource (or it may not exist).",
		who.Email, permission, kind, permission)
}

// requireOn returns an error if the caller does not have a permission. Handlers use it for permissions that depend on
// the request.
func (s *service) requireOn(tx *bbolt.Tx, c *api.Call, permission string, on api.Resource) error {
	return s.Authorize(tx, s.service, c.Who, permission, on)
}

// otherPath returns the emulator's path of a request to a path of storage.googleapis.com on the emulator's own host.
func (s *service) otherPath(r *http.Request) (string, bool) {
	path := r.URL.EscapedPath()
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case first == "upload", first == "download", first == "resumable", first == "storage" && strings.HasPrefix(rest, "v1/"):
		return storagePath(path), true
	case rest == "" || s.IsPrefix(first) || r.Method != http.MethodGet && r.Method != http.MethodHead || !s.isBucket(first):
		return "", false
	}
	return storagePath(path), true
}

func (s *service) isBucket(name string) bool {
	err := s.Store.View(func(tx *bbolt.Tx) error {
		_, err := buckets.Find(tx, name)
		return err
	})
	return err == nil
}

// writeError writes an error as the response to a call, in the form of the JSON API or of the XML API.
func writeError(w http.ResponseWriter, path string, err error) {
	if strings.HasPrefix(path, xmlPrefix) {
		writeXMLError(w, err)
		return
	}
	api.WriteError(w, err)
}

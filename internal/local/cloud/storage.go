package cloud

import (
	"net/http"
	"strings"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/blobs"
)

const (
	objects table = "storageObjects" // <bucket> <name> <generation>, with NUL between them
	uploads table = "storageUploads" // <upload>
)

// storageTables returns the tables of the service.
func storageTables() []table { return []table{buckets, objects, uploads} }

type storageService struct {
	*Core
	service *service
	// blobs holds the contents of objects. uploading holds the IDs of uploads that a request is writing to.
	blobs     *blobs.Store
	uploading sync.Map
}

// registerStorage adds the Cloud Storage API to the emulator. It keeps the contents of objects in a folder.
func registerStorage(c *Core, dir string) error {
	contents, err := blobs.Open(dir)
	if err != nil {
		return err
	}
	s := &storageService{Core: c, blobs: contents}
	s.service = &service{
		name:       "storage.googleapis.com",
		title:      "Cloud Storage API",
		prefix:     "storage",
		scopes:     []string{"https://www.googleapis.com/auth/devstorage.full_control", "https://www.googleapis.com/auth/devstorage.read_write"},
		readScopes: []string{"https://www.googleapis.com/auth/devstorage.read_only", "https://www.googleapis.com/auth/cloud-platform.read-only"},
		project:    storageProject,
		denied:     storageDenied,
		routes:     append(bucketRoutes(c, isEmpty), s.objectRoutes()...),
		hostPath:   storagePath,
		otherPath:  s.otherPath,
		writeError: writeStorageError,
	}
	c.register(s.service)
	return s.sweep()
}

func (s *storageService) objectRoutes() []route {
	const (
		files  = "storage/v1/b/{bucket}/o"
		file   = files + "/{object}"
		to     = "/b/{toBucket}/o/{toObject}"
		upload = "upload/storage/v1/b/{bucket}/o"
		public = "xml/{bucket}/{object}"
	)
	return []route{
		{method: "GET", pattern: files, permission: "storage.objects.list", on: onBucket, handle: s.listObjects},
		{method: "GET", pattern: file, permission: "storage.objects.get", on: onObject, handle: s.getObject},
		{method: "GET", pattern: "download/storage/v1/b/{bucket}/o/{object}", permission: "storage.objects.get", on: onObject, handle: s.downloadObject},
		{method: "GET", pattern: public, permission: "storage.objects.get", on: onObject, handle: s.downloadObject},
		{method: "HEAD", pattern: public, permission: "storage.objects.get", on: onObject, handle: s.downloadObject},
		{method: "PATCH", pattern: file, permission: "storage.objects.update", on: onObject, handle: s.patchObject},
		{method: "PUT", pattern: file, permission: "storage.objects.update", on: onObject, handle: s.updateObject},
		{method: "DELETE", pattern: file, permission: "storage.objects.delete", on: onObject, handle: s.deleteObject},
		// The calls below name an object in the request's body, or more than one object. Their handlers check the
		// permissions.
		{method: "POST", pattern: file + "/compose", handle: s.composeObject},
		{method: "POST", pattern: file + "/rewriteTo" + to, handle: s.rewriteObject},
		{method: "POST", pattern: file + "/copyTo" + to, handle: s.copyObject},
		{method: "POST", pattern: upload, handle: s.insertObject},
		{method: "POST", pattern: files, handle: s.insertObject},
		{method: "PUT", pattern: upload, handle: s.continueUpload},
		{method: "DELETE", pattern: upload, handle: s.cancelUpload},
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

// storageProject returns the project of the call's bucket, or the project in the call's query.
func storageProject(tx *bbolt.Tx, c *call) (string, error) {
	if c.vars["bucket"] == "" {
		about := c.request.URL.Query().Get("project")
		if about == "" {
			return "", legacyError(http.StatusBadRequest, "required", "Required parameter: project")
		}
		// Only an ID or a number names a project. The permission check uses this text even if there is no such
		// project, and then refuses the call.
		c.vars["project"] = about
		return about, nil
	}
	found, err := findBucket(tx, c.vars["bucket"])
	if err != nil {
		return "", err
	}
	return found.Project, nil
}

func objectResource(project, bucket, object string) resource {
	path := "projects/_/buckets/" + bucket + "/objects/" + object
	return resource{project: project, name: path, policy: bucketPolicy(bucket), path: path, kind: "storage.googleapis.com/Object"}
}

// onObject returns an object as the resource of a permission check. Only buckets have policies.
func onObject(c *call) resource {
	return objectResource(c.projectID(), c.vars["bucket"], c.vars["object"])
}

func storageDenied(who principal, permission string, on resource) *apiError {
	kind := "Google Cloud project"
	switch on.kind {
	case "storage.googleapis.com/Object":
		kind = "Google Cloud Storage object"
	case "storage.googleapis.com/Bucket":
		kind = "Google Cloud Storage bucket"
	}
	return legacyError(http.StatusForbidden, "forbidden", "%s does not have %s access to the %s. Permission '%s' denied on resource (or it may not exist).",
		who.email, permission, kind, permission)
}

// requireOn refuses the call if the caller lacks a permission. Handlers use it for permissions that depend on the
// request.
func (s *storageService) requireOn(tx *bbolt.Tx, c *call, permission string, on resource) error {
	return s.authorize(tx, s.service, c.who, permission, on)
}

// otherPath returns the emulator's path of a request to a path of storage.googleapis.com on the emulator's own host.
func (s *storageService) otherPath(r *http.Request) (string, bool) {
	path := r.URL.EscapedPath()
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case first == "upload", first == "download", first == "resumable", first == "storage" && strings.HasPrefix(rest, "v1/"):
		return storagePath(path), true
	case rest == "" || s.isPrefix(first) || r.Method != http.MethodGet && r.Method != http.MethodHead || !s.isBucket(first):
		return "", false
	}
	return storagePath(path), true
}

func (s *storageService) isBucket(name string) bool {
	err := s.store.view(func(tx *bbolt.Tx) error {
		_, err := findBucket(tx, name)
		return err
	})
	return err == nil
}

// writeStorageError answers a call with an error, in the form of the JSON API or of the XML API.
func writeStorageError(w http.ResponseWriter, path string, err error) {
	if strings.HasPrefix(path, xmlPrefix) {
		writeXMLError(w, err)
		return
	}
	writeError(w, err)
}

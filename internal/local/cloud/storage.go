package cloud

import (
	"net/http"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

func (s *Server) storageService() *service {
	const (
		all    = "storage/v1/b"
		one    = all + "/{bucket}"
		files  = one + "/o"
		file   = files + "/{object}"
		to     = "/b/{toBucket}/o/{toObject}"
		upload = "upload/storage/v1/b/{bucket}/o"
		public = "xml/{bucket}/{object}"
	)
	return &service{
		name:       "storage.googleapis.com",
		title:      "Cloud Storage API",
		prefix:     "storage",
		scopes:     []string{"https://www.googleapis.com/auth/devstorage.full_control", "https://www.googleapis.com/auth/devstorage.read_write"},
		readScopes: []string{"https://www.googleapis.com/auth/devstorage.read_only", "https://www.googleapis.com/auth/cloud-platform.read-only"},
		project:    storageProject,
		denied:     storageDenied,
		routes: []route{
			{method: "POST", pattern: all, permission: "storage.buckets.create", handle: s.insertBucket},
			{method: "GET", pattern: all, permission: "storage.buckets.list", handle: s.listBuckets},
			{method: "GET", pattern: one, permission: "storage.buckets.get", on: onBucket, handle: s.getBucket},
			{method: "PATCH", pattern: one, permission: "storage.buckets.update", on: onBucket, handle: s.patchBucket},
			{method: "PUT", pattern: one, permission: "storage.buckets.update", on: onBucket, handle: s.updateBucket},
			{method: "DELETE", pattern: one, permission: "storage.buckets.delete", on: onBucket, handle: s.deleteBucket},
			{method: "GET", pattern: one + "/iam", permission: "storage.buckets.getIamPolicy", on: onBucket, handle: s.getBucketPolicy},
			{method: "PUT", pattern: one + "/iam", permission: "storage.buckets.setIamPolicy", on: onBucket, handle: s.setBucketPolicy},
			// The call tells callers their own permissions, so it needs none.
			{method: "GET", pattern: one + "/iam/testPermissions", handle: s.testBucketPermissions},

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
		},
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
			return "", storageError(http.StatusBadRequest, "required", "Required parameter: project")
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

// bucketPolicy returns the store's key of a bucket's IAM policy.
func bucketPolicy(bucket string) string { return "buckets/" + bucket }

func bucketResource(project, bucket string) resource {
	path := "projects/_/buckets/" + bucket
	return resource{project: project, name: path, policy: bucketPolicy(bucket), path: path, kind: "storage.googleapis.com/Bucket"}
}

func objectResource(project, bucket, object string) resource {
	path := "projects/_/buckets/" + bucket + "/objects/" + object
	return resource{project: project, name: path, policy: bucketPolicy(bucket), path: path, kind: "storage.googleapis.com/Object"}
}

// onBucket returns a bucket as the resource of a permission check.
func onBucket(c *call) resource { return bucketResource(c.projectID(), c.vars["bucket"]) }

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
	return storageError(http.StatusForbidden, "forbidden", "%s does not have %s access to the %s. Permission '%s' denied on resource (or it may not exist).",
		who.email, permission, kind, permission)
}

// requireOn refuses the call if the caller lacks a permission. Handlers use it for permissions that depend on the
// request.
func (s *Server) requireOn(tx *bbolt.Tx, c *call, permission string, on resource) error {
	return s.authorize(tx, s.services["storage"], c.who, permission, on)
}

// storageError returns an error in the form of Cloud Storage, whose errors have no status.
func storageError(code int, reason, format string, args ...any) *apiError {
	return newError(code, "", reason, format, args...)
}

func invalidStorage(format string, args ...any) *apiError {
	return storageError(http.StatusBadRequest, "invalid", format, args...)
}

// preconditionFailed returns the error for a precondition that does not hold.
func preconditionFailed() *apiError {
	refusal := storageError(http.StatusPreconditionFailed, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
	refusal.Errors[0].LocationType, refusal.Errors[0].Location = "header", "If-Match"
	return refusal
}

// noContent answers calls that delete.
var noContent = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// storageTime formats a time as Cloud Storage does.
func storageTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// canonicalPath returns the path of a request in the form that routes use: its first segment is the service's prefix.
func (s *Server) canonicalPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	for _, svc := range s.services {
		switch {
		case r.Host != svc.name:
		case svc.prefix == "storage":
			return storagePath(path)
		case svc.prefix == "compute":
			return path // its first segment is the prefix there, too
		default:
			return "/" + svc.prefix + path
		}
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "upload", "download", "resumable":
		return storagePath(path)
	case "storage":
		if strings.HasPrefix(rest, "v1/") {
			return storagePath(path)
		}
	}
	if s.services[first] == nil && rest != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) && s.isBucket(first) {
		return storagePath(path)
	}
	return path
}

func (s *Server) isBucket(name string) bool {
	err := s.store.view(func(tx *bbolt.Tx) error {
		_, err := findBucket(tx, name)
		return err
	})
	return err == nil
}

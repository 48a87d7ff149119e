package cloud

import (
	"context"
	"net/http"

	"go.etcd.io/bbolt"
)

// service is one emulated API.
type service struct {
	name   string // name in Service Usage
	title  string // empty for a service that projects do not enable
	prefix string // first segment of the service's paths in the emulator
	routes []route
	// scopes are the OAuth scopes that allow all calls, besides cloudPlatform. readScopes allow only reads.
	scopes, readScopes []string
	// project returns the ID or number of a call's project if the path has no project variable. It may be nil.
	project func(*bbolt.Tx, *call) (string, error)
	// denied returns this API's error for a missing permission.
	denied func(who principal, permission string, on resource) *apiError
	// alwaysEnabled says that projects cannot disable the service.
	alwaysEnabled bool
	// hostPath returns the emulator's path, which begins with the prefix, for a path on the service's own host. Nil puts
	// the prefix before the path.
	hostPath func(escaped string) string
	// otherPath returns the emulator's path of a request outside the prefixes. ok is false if the request is not for
	// this service. It may be nil.
	otherPath func(r *http.Request) (path string, ok bool)
	// writeError answers a call to the emulator's path with an error, in the service's own form. Nil means Google's
	// usual form.
	writeError func(w http.ResponseWriter, path string, err error)
	// start resumes what the service ran before the emulator ended, and stop ends what it runs. Both may be nil.
	start func(context.Context) error
	stop  func() error
}

// route is one method of an API.
type route struct {
	method string
	// pattern is the path below the service's prefix. A segment is literal, one of several (a|b), or a variable
	// ({name}). The pattern may end in a ":verb".
	pattern string
	// permission is the permission that the caller needs on the resource. It is empty if the method needs none, or if
	// the handler checks permissions itself.
	permission string
	// on returns the resource of the permission check. Nil means the project.
	on func(*call) resource
	// handle answers the call. It returns a value to send as JSON, or an http.Handler that sends the response itself.
	handle func(*call) (any, error)

	segments []string
	verb     string
}

// resource is the subject of a permission check.
type resource struct {
	project string
	name    string // name in errors
	policy  string // key of the resource's own IAM policy; empty if it has none
	// path and kind are resource.name and resource.type in conditions. resource.service is the part of kind before the
	// slash. Both are empty for resources that lack these attributes according to Google's documentation:
	// https://cloud.google.com/iam/docs/conditions-resource-attributes
	path string
	kind string
}

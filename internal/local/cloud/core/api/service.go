package api

import (
	"context"
	"net/http"

	"go.etcd.io/bbolt"
)

// Service is one emulated API.
type Service struct {
	Name   string // name in Service Usage
	Title  string // empty for a service that projects do not enable
	Prefix string // first segment of the service's paths in the emulator
	Routes []Route
	// Scopes are the OAuth scopes that allow all calls, besides cloudPlatform. ReadScopes allow only reads.
	Scopes, ReadScopes []string
	// Project returns the ID or number of a call's project if the path has no project variable. It may be nil.
	Project func(*bbolt.Tx, *Call) (string, error)
	// Denied returns this API's error for a missing permission.
	Denied func(who Principal, permission string, on Resource) *Error
	// Anonymous is true if the calls of the service carry no access token.
	Anonymous bool
	// AlwaysEnabled is true if projects cannot disable the service.
	AlwaysEnabled bool
	// HostPath converts a path on the service's own host to the emulator's path, which begins with the prefix. If it is
	// nil, the emulator's path is the prefix followed by the path.
	HostPath func(escaped string) string
	// OtherPath returns the emulator's path of a request outside the prefixes. ok is false if the request is not for
	// this service. It may be nil.
	OtherPath func(r *http.Request) (path string, ok bool)
	// WriteError writes an error in the service's own form, as the response to a call of the emulator's path. Nil means
	// Google's usual form.
	WriteError func(w http.ResponseWriter, path string, err error)
	// Start resumes the work that the service did when the emulator ended. Stop ends the work of the service. Both may
	// be nil.
	Start func(context.Context) error
	Stop  func() error
}

// Route is one method of an API.
type Route struct {
	Method string
	// Pattern is the path below the service's prefix. A segment is literal, one of several (a|b), or a variable
	// ({name}). The pattern may end in a ":verb".
	Pattern string
	// Permission is the permission that the caller needs on the resource. It is empty if the method needs none, or if
	// the handler checks permissions itself.
	Permission string
	// On returns the resource of the permission check. Nil means the project.
	On func(*Call) Resource
	// Handle handles the call. It returns a value to send as JSON, or an http.Handler that sends the response.
	Handle func(*Call) (any, error)

	segments []string
	verb     string
}

// Resource is the subject of a permission check.
type Resource struct {
	Project string
	Name    string // name in errors
	Policy  string // key of the resource's own IAM policy; empty if it has none
	// ParentPolicy is the key of the IAM policy of the parent; empty if the parent is the project.
	ParentPolicy string
	// Path and Kind are resource.name and resource.type in conditions. resource.service is the part of Kind before the
	// slash. Both are empty for resources that lack these attributes according to Google's documentation:
	// https://cloud.google.com/iam/docs/conditions-resource-attributes
	Path string
	Kind string
}

package cloud

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

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

func compile(routes []route) []route {
	for i := range routes {
		r := &routes[i]
		pattern := r.pattern
		if at := strings.LastIndex(pattern, ":"); at >= 0 {
			pattern, r.verb = pattern[:at], pattern[at+1:]
		}
		r.segments = strings.Split(pattern, "/")
	}
	return routes
}

// match returns the path's variables if the path fits the route.
func (r *route) match(path []string) (map[string]string, bool) {
	if len(path) != len(r.segments) {
		return nil, false
	}
	vars := map[string]string{}
	for i, want := range r.segments {
		got := path[i]
		if i == len(path)-1 && r.verb != "" {
			var ok bool
			if got, ok = strings.CutSuffix(got, ":"+r.verb); !ok {
				return nil, false
			}
		}
		if name, ok := variable(want); ok {
			if got == "" {
				return nil, false
			}
			vars[name] = got
			continue
		}
		if !oneOf(want, got) {
			return nil, false
		}
	}
	return vars, true
}

func variable(segment string) (string, bool) {
	name, ok := strings.CutPrefix(segment, "{")
	return strings.TrimSuffix(name, "}"), ok
}

func oneOf(alternatives, got string) bool {
	for alternative := range strings.SplitSeq(alternatives, "|") {
		if alternative == got {
			return true
		}
	}
	return false
}

// repeatedVersion matches a version with another version after it. The official provider creates such paths: it
// removes the version from a custom endpoint only if the endpoint begins with https, and its clients always add
// theirs.
var repeatedVersion = regexp.MustCompile(`^(sql/)?v\d[a-z0-9]*/((sql/)?v\d[a-z0-9]*/)`)

// find returns the service, the route and the path variables of a request. The service or the route is nil if there is
// none.
func (s *Server) find(r *http.Request) (*service, *route, map[string]string) {
	prefix, rest, _ := strings.Cut(strings.TrimPrefix(s.canonicalPath(r), "/"), "/")
	svc := s.services[prefix]
	if svc == nil {
		return nil, nil, nil
	}
	path := strings.Split(repeatedVersion.ReplaceAllString(rest, "$2"), "/")
	for i, segment := range path {
		plain, err := url.PathUnescape(segment)
		if err != nil {
			return svc, nil, nil
		}
		path[i] = plain
	}
	for i := range svc.routes {
		candidate := &svc.routes[i]
		if candidate.method != r.Method {
			continue
		}
		if vars, ok := candidate.match(path); ok {
			return svc, candidate, vars
		}
	}
	return svc, nil, nil
}

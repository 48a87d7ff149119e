package gcloud

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"go.etcd.io/bbolt"
)

// service is one emulated API.
type service struct {
	name   string // as Service Usage calls it
	title  string // empty for what is no API that a project enables
	prefix string // first segment of its paths here
	routes []route
	// scopes are what a token may be for besides all of Google Cloud, and readScopes those that only allow to read.
	scopes, readScopes []string
	// project tells which project a call is about, by its id or its number, where that is not the path's variable. It may
	// be nil.
	project func(*bbolt.Tx, *call) (string, error)
	// denied words the refusal of a call for a missing permission as this API does.
	denied func(who principal, permission string, on resource) *apiError
}

// route is one method of an API.
type route struct {
	method string
	// pattern is the path below the service's prefix: segments that are literal, one of several (a|b) or a variable
	// ({name}), and perhaps a ":verb" at the end.
	pattern string
	// permission is what the caller needs on the resource. It is empty only where the method needs none or where the
	// handler finds out by itself what is needed.
	permission string
	// on says which resource the permission is needed on; nil means the project.
	on func(*call) resource
	// handle answers the call: with what is sent as JSON, or with an http.Handler that sends something else.
	handle func(*call) (any, error)

	segments []string
	verb     string
}

// resource is what permissions are checked on.
type resource struct {
	project string
	name    string // as refusals name it
	policy  string // key of the resource's own IAM policy; empty where it has none
	// path and kind are what conditions read as resource.name and resource.type; resource.service is the kind up to its
	// slash. They are empty for resources of which Google's documentation says that they have no such attributes:
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

// match returns the variables of a path that fits the route.
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

// repeatedVersion is a version that is followed by another one. The official provider makes such paths: it cuts the
// version from a custom endpoint only where the endpoint begins with https, and its clients add theirs in any case.
var repeatedVersion = regexp.MustCompile(`^(sql/)?v\d[a-z0-9]*/((sql/)?v\d[a-z0-9]*/)`)

// find returns the service, the route and the variables of a request; a nil service or route where there is none.
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

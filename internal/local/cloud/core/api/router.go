package api

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

func compile(routes []Route) []Route {
	for i := range routes {
		r := &routes[i]
		pattern := r.Pattern
		if at := strings.LastIndex(pattern, ":"); at >= 0 {
			pattern, r.verb = pattern[:at], pattern[at+1:]
		}
		r.segments = strings.Split(pattern, "/")
	}
	return routes
}

// match returns the variables of a path if the path matches the route.
func (r *Route) match(path []string) (map[string]string, bool) {
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
		if !OneOf(want, got) {
			return nil, false
		}
	}
	return vars, true
}

func variable(segment string) (string, bool) {
	name, ok := strings.CutPrefix(segment, "{")
	return strings.TrimSuffix(name, "}"), ok
}

// repeatedVersion matches a version with another version after it. The official provider creates such paths: it
// removes the version from a custom endpoint only if the endpoint begins with https, and its clients always add
// theirs.
var repeatedVersion = regexp.MustCompile(`^(sql/)?v\d[a-z0-9]*/((sql/)?v\d[a-z0-9]*/)`)

// Router finds the service and the route of a request.
type Router struct{ registered []*Service }

// Register adds a service.
func (t *Router) Register(svc *Service) {
	svc.Routes = compile(svc.Routes)
	t.registered = append(t.registered, svc)
}

// Services returns the registered services.
func (t *Router) Services() []*Service { return t.registered }

// IsPrefix reports whether a service has a prefix.
func (t *Router) IsPrefix(prefix string) bool { return t.service(prefix) != nil }

func (t *Router) service(prefix string) *Service {
	for _, svc := range t.registered {
		if svc.Prefix == prefix {
			return svc
		}
	}
	return nil
}

// Match is the result of Find. Service or Route is nil if Find finds none.
type Match struct {
	Service *Service
	Route   *Route
	Path    string // in the form that routes use
	Vars    map[string]string
}

// Find returns the service, the route and the path variables of a request.
func (t *Router) Find(r *http.Request) Match {
	canonical := t.canonicalPath(r)
	prefix, rest, _ := strings.Cut(strings.TrimPrefix(canonical, "/"), "/")
	found := Match{Service: t.service(prefix), Path: canonical}
	if found.Service == nil {
		return found
	}
	path := strings.Split(repeatedVersion.ReplaceAllString(rest, "$2"), "/")
	for i, segment := range path {
		plain, err := url.PathUnescape(segment)
		if err != nil {
			return found
		}
		path[i] = plain
	}
	for i := range found.Service.Routes {
		candidate := &found.Service.Routes[i]
		if candidate.Method != r.Method {
			continue
		}
		if vars, ok := candidate.match(path); ok {
			found.Route, found.Vars = candidate, vars
			return found
		}
	}
	return found
}

// canonicalPath returns the path of a request in the form that routes use: its first segment is the service's prefix.
func (t *Router) canonicalPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	for _, svc := range t.registered {
		switch {
		case r.Host != svc.Name:
		case svc.HostPath != nil:
			return svc.HostPath(path)
		default:
			return "/" + svc.Prefix + path
		}
	}
	for _, svc := range t.registered {
		if svc.OtherPath != nil {
			if other, ok := svc.OtherPath(r); ok {
				return other
			}
		}
	}
	return path
}

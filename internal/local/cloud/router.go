package cloud

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

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

// repeatedVersion matches a version with another version after it. The official provider creates such paths: it
// removes the version from a custom endpoint only if the endpoint begins with https, and its clients always add
// theirs.
var repeatedVersion = regexp.MustCompile(`^(sql/)?v\d[a-z0-9]*/((sql/)?v\d[a-z0-9]*/)`)

// Router finds the service and the route of a request.
type Router struct{ registered []*service }

// register adds a service.
func (t *Router) register(svc *service) {
	svc.routes = compile(svc.routes)
	t.registered = append(t.registered, svc)
}

// services returns the registered services.
func (t *Router) services() []*service { return t.registered }

// isPrefix reports whether a service has a prefix.
func (t *Router) isPrefix(prefix string) bool { return t.service(prefix) != nil }

func (t *Router) service(prefix string) *service {
	for _, svc := range t.registered {
		if svc.prefix == prefix {
			return svc
		}
	}
	return nil
}

// match is the outcome of a search. service and route are nil if there is none.
type match struct {
	service *service
	route   *route
	path    string // in the form that routes use
	vars    map[string]string
}

// find returns the service, the route and the path variables of a request.
func (t *Router) find(r *http.Request) match {
	canonical := t.canonicalPath(r)
	prefix, rest, _ := strings.Cut(strings.TrimPrefix(canonical, "/"), "/")
	found := match{service: t.service(prefix), path: canonical}
	if found.service == nil {
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
	for i := range found.service.routes {
		candidate := &found.service.routes[i]
		if candidate.method != r.Method {
			continue
		}
		if vars, ok := candidate.match(path); ok {
			found.route, found.vars = candidate, vars
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
		case r.Host != svc.name:
		case svc.hostPath != nil:
			return svc.hostPath(path)
		default:
			return "/" + svc.prefix + path
		}
	}
	for _, svc := range t.registered {
		if svc.otherPath != nil {
			if other, ok := svc.otherPath(r); ok {
				return other
			}
		}
	}
	return path
}

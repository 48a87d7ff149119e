package ingress

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// backend is a port of a Service, by number or name.
type backend struct {
	service types.NamespacedName
	port    string
	// page is set for the page that the Service declares.
	page bool
}

// route leads a path of a host to a backend.
type route struct {
	path    string
	exact   bool
	backend backend
}

// table contains the routes of all Ingresses. It does not change.
type table struct {
	// hosts maps a host, or a wildcard such as *.example.com, or "" for all hosts, to its routes, most specific first.
	hosts map[string][]route
	// fallback is the default backend of the oldest Ingress that has one, or nil.
	fallback *backend
	// certificates maps a host to the Secret with its certificate.
	certificates map[string]types.NamespacedName
}

// newTable returns the routes of Ingresses, and the default backends. If two Ingresses claim the same path of a host, the
// older one has it, so that no team takes over the traffic of another.
func newTable(all []*networkingv1.Ingress) *table {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b *networkingv1.Ingress) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
	})
	t := &table{hosts: map[string][]route{}, certificates: map[string]types.NamespacedName{}}
	// The namespace of the oldest Ingress that names a host.
	owners := map[string]string{}
	for _, in := range all {
		if b := backendOf(in, in.Spec.DefaultBackend); b != nil && t.fallback == nil {
			t.fallback = b
		}
		for _, rule := range in.Spec.Rules {
			host := strings.ToLower(rule.Host)
			if _, ok := owners[host]; !ok {
				owners[host] = in.Namespace
			}
			t.add(in, host, rule)
		}
	}
	for _, in := range all {
		for _, entry := range in.Spec.TLS {
			for _, host := range entry.Hosts {
				host = strings.ToLower(host)
				if _, ok := t.certificates[host]; !ok && entry.SecretName != "" && owners[host] == in.Namespace {
					t.certificates[host] = types.NamespacedName{Namespace: in.Namespace, Name: entry.SecretName}
				}
			}
		}
	}
	for _, routes := range t.hosts {
		slices.SortStableFunc(routes, func(a, b route) int {
			if a.exact != b.exact {
				return map[bool]int{true: -1, false: 1}[a.exact]
			}
			return len(b.path) - len(a.path)
		})
	}
	return t
}

func (t *table) add(in *networkingv1.Ingress, host string, rule networkingv1.IngressRule) {
	if rule.HTTP == nil {
		// A rule without paths leads to the default backend of its own Ingress.
		if b := backendOf(in, in.Spec.DefaultBackend); b != nil {
			t.hosts[host] = append(t.hosts[host], route{path: "/", backend: *b})
		}
		return
	}
	for _, p := range rule.HTTP.Paths {
		if b := backendOf(in, &p.Backend); b != nil {
			path := p.Path
			exact := p.PathType != nil && *p.PathType == networkingv1.PathTypeExact
			if !exact {
				path = strings.TrimSuffix(strings.TrimSuffix(cmp.Or(path, "/"), "*"), "/")
			}
			t.hosts[host] = append(t.hosts[host], route{path, exact, *b})
		}
	}
}

// backendOf returns a backend of an Ingress, or nil if it is no Service.
func backendOf(in *networkingv1.Ingress, b *networkingv1.IngressBackend) *backend {
	if b == nil || b.Service == nil {
		return nil
	}
	port := b.Service.Port.Name
	if port == "" {
		port = itoa(b.Service.Port.Number)
	}
	return &backend{types.NamespacedName{Namespace: in.Namespace, Name: b.Service.Name}, port, false}
}

// find returns the backend for a request, or nil. Exact hosts precede wildcards, and these precede rules for all hosts
// (Kubernetes, "Ingress"). In one host, an exact path precedes prefixes, and a longer prefix a shorter one. With an owner, only
// Ingresses of that namespace count.
func (t *table) find(host, path, owner string) *backend {
	for _, name := range names(host) {
		for _, r := range t.hosts[name] {
			if r.matches(path) && r.backend.of(owner) {
				return &r.backend
			}
		}
	}
	if t.fallback != nil && t.fallback.of(owner) {
		return t.fallback
	}
	return nil
}

// of reports whether a backend is one of a namespace, or owner is empty.
func (b *backend) of(owner string) bool { return owner == "" || b.service.Namespace == owner }

// matches reports whether a route has a path. A prefix consists of whole elements: /a is one of /a/b, and not of /ab.
func (r route) matches(path string) bool {
	if r.exact {
		return path == r.path
	}
	return path == r.path || strings.HasPrefix(path, r.path+"/")
}

// names returns the hosts whose rules apply to a request: the host, the wildcard with one label less, and all hosts.
func names(host string) []string {
	host = plain(host)
	found := []string{host}
	if _, rest, ok := strings.Cut(host, "."); ok {
		found = append(found, "*."+rest)
	}
	return append(found, "")
}

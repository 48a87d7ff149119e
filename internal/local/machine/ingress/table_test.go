package ingress

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// parse returns an Ingress that is a number of seconds old when the next one is created.
func parse(t *testing.T, age int, text string) *networkingv1.Ingress {
	t.Helper()
	in := &networkingv1.Ingress{}
	if err := yaml.UnmarshalStrict([]byte(text), in); err != nil {
		t.Fatal(err)
	}
	in.CreationTimestamp = metav1.NewTime(time.Unix(1000-int64(age), 0))
	return in
}

func TestFind(t *testing.T) {
	table := newTable([]*networkingv1.Ingress{
		parse(t, 10, `{metadata: {namespace: web, name: main}, spec: {rules: [{host: Shop.Example.com, http: {paths: [
			{path: /, pathType: Prefix, backend: {service: {name: root, port: {number: 80}}}},
			{path: /api, pathType: Prefix, backend: {service: {name: api, port: {name: http}}}},
			{path: /api/v2/, pathType: Prefix, backend: {service: {name: v2, port: {number: 80}}}},
			{path: /api/exact, pathType: Exact, backend: {service: {name: exact, port: {number: 80}}}},
			{path: /old/*, pathType: ImplementationSpecific, backend: {service: {name: old, port: {number: 80}}}}]}}]}}`),
		parse(t, 5, `{metadata: {namespace: thief, name: later}, spec: {rules: [{host: shop.example.com, http: {paths: [
			{path: /api, pathType: Prefix, backend: {service: {name: stolen, port: {number: 80}}}},
			{path: /thief, pathType: Prefix, backend: {service: {name: thief, port: {number: 80}}}}]}}],
			tls: [{hosts: [shop.example.com], secretName: mine}]}}`),
		parse(t, 4, `{metadata: {namespace: web, name: wild}, spec: {defaultBackend: {service: {name: default, port: {number: 80}}},
			rules: [{host: "*.example.com", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: wild, port: {number: 80}}}}]}},
			{http: {paths: [{path: /any, pathType: Exact, backend: {service: {name: any, port: {number: 80}}}}]}}], tls: [{hosts: ["*.example.com"], secretName: wild}]}}`),
		parse(t, 3, `{metadata: {namespace: late, name: late}, spec: {defaultBackend: {service: {name: late, port: {number: 80}}}}}`),
	})
	for name, c := range map[string]struct{ host, path, want string }{
		"the host with its port":                      {"shop.example.com:15000", "/", "web/root:80"},
		"capital letters":                             {"SHOP.example.com", "/x", "web/root:80"},
		"a prefix":                                    {"shop.example.com", "/api/users", "web/api:http"},
		"a prefix without slash":                      {"shop.example.com", "/api", "web/api:http"},
		"no prefix of half an element":                {"shop.example.com", "/apis", "web/root:80"},
		"the longest prefix":                          {"shop.example.com", "/api/v2/users", "web/v2:80"},
		"an exact path precedes a prefix":             {"shop.example.com", "/api/exact", "web/exact:80"},
		"an exact path has no elements below":         {"shop.example.com", "/api/exact/", "web/api:http"},
		"GKE's star":                                  {"shop.example.com", "/old/page", "web/old:80"},
		"a later Ingress takes over no path":          {"shop.example.com", "/api/stolen", "web/api:http"},
		"a later Ingress adds a path":                 {"shop.example.com", "/thief", "thief/thief:80"},
		"a wildcard":                                  {"a.example.com", "/", "web/wild:80"},
		"a wildcard is one label":                     {"a.b.example.com", "/", "web/default:80"},
		"a rule without host":                         {"localhost", "/any", "web/any:80"},
		"the oldest default backend, for other hosts": {"localhost", "/", "web/default:80"},
	} {
		t.Run(name, func(t *testing.T) {
			got := "none"
			if b := table.find(c.host, c.path, ""); b != nil {
				got = b.service.String() + ":" + b.port
			}
			if got != c.want {
				t.Errorf("%s%s leads to %s, want %s", c.host, c.path, got, c.want)
			}
		})
	}
	if secret, ok := table.certificates["shop.example.com"]; ok {
		t.Errorf("the host has the certificate %s of another namespace", secret)
	}
	if secret := table.certificates["*.example.com"]; secret.Name != "wild" {
		t.Errorf("the wildcard has the certificate %s", secret)
	}
	if b := newTable(nil).find("localhost", "/", ""); b != nil {
		t.Errorf("without Ingresses, a request leads to %v", b)
	}
}

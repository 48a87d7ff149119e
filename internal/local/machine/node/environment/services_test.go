package environment

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestVariablesOfServices(t *testing.T) {
	var services []*corev1.Service
	for _, text := range []string{
		`{metadata: {namespace: default, name: kubernetes}, spec: {clusterIP: 10.96.0.1, ports: [{name: https, port: 443}]}}`,
		`{metadata: {namespace: shop, name: web-front}, spec: {clusterIP: 10.96.1.1, ports: [{name: http, port: 80, protocol: TCP}, {name: dns-udp, port: 53, protocol: UDP}]}}`,
		`{metadata: {namespace: shop, name: headless}, spec: {clusterIP: None, ports: [{port: 80}]}}`,
		`{metadata: {namespace: shop, name: away}, spec: {type: ExternalName, externalName: a.example}}`,
		`{metadata: {namespace: blog, name: secret}, spec: {clusterIP: 10.96.1.2, ports: [{port: 80}]}}`,
	} {
		s := &corev1.Service{}
		if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
			t.Fatal(err)
		}
		services = append(services, s)
	}
	pod := &corev1.Pod{}
	pod.Namespace = "shop"
	c := &corev1.Container{Env: []corev1.EnvVar{{Name: "URL", Value: "http://$(WEB_FRONT_SERVICE_HOST)"}, {Name: "WEB_FRONT_PORT", Value: "mine"}}}
	r := Resolver{Pod: func() *corev1.Pod { return pod }, Services: func() ([]*corev1.Service, error) { return services, nil }}
	linked := map[string]string{
		"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443", "KUBERNETES_SERVICE_PORT_HTTPS": "443",
		"KUBERNETES_PORT_443_TCP_ADDR": "10.96.0.1",
		"WEB_FRONT_SERVICE_HOST":       "10.96.1.1", "WEB_FRONT_SERVICE_PORT": "80", "WEB_FRONT_SERVICE_PORT_DNS_UDP": "53",
		"WEB_FRONT_PORT_53_UDP": "udp://10.96.1.1:53", "WEB_FRONT_PORT_80_TCP_PROTO": "tcp", "WEB_FRONT_PORT_80_TCP_PORT": "80",
		"WEB_FRONT_PORT": "mine", "URL": "http://10.96.1.1",
	}
	unlinked := map[string]string{"KUBERNETES_PORT": "tcp://10.96.0.1:443", "WEB_FRONT_SERVICE_HOST": "", "URL": "http://$(WEB_FRONT_SERVICE_HOST)"}
	for name, c2 := range map[string]struct {
		links *bool
		want  map[string]string
	}{"services of the namespace are variables": {nil, linked}, "only the API server's with enableServiceLinks: false": {new(false), unlinked}} {
		t.Run(name, func(t *testing.T) {
			pod.Spec.EnableServiceLinks = c2.links
			env, err := r.WithServices(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range c2.want {
				if env[name] != want {
					t.Errorf("%s is %q, want %q", name, env[name], want)
				}
			}
			for _, name := range []string{"HEADLESS_SERVICE_HOST", "AWAY_SERVICE_HOST", "SECRET_SERVICE_HOST"} {
				if value, ok := env[name]; ok {
					t.Errorf("%s is %q, want no variable", name, value)
				}
			}
		})
	}
}

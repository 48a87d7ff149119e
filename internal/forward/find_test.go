package forward

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func service(namespace, name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: ports}}
}

func TestFindChoosesOneServiceOrPodAndItsPort(t *testing.T) {
	client := fake.NewClientset(
		service("team-web", "blog", corev1.ServicePort{Name: "metrics", Port: 9090}, corev1.ServicePort{Name: "http", Port: 80}),
		service("team-web", "both", corev1.ServicePort{Port: 80}), service("team-shop", "both", corev1.ServicePort{Port: 80}),
		service("team-shop", "secure", corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}, corev1.ServicePort{Port: 443}),
		service("kube-system", "hidden", corev1.ServicePort{Port: 80}),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: "one"}},
	)
	for name, test := range map[string]struct{ name, port, want, url, err string }{
		"the port http":                      {name: "blog", want: "service/blog in namespace team-web", url: "http 80"},
		"a port by its name":                 {name: "blog", port: "metrics", want: "service/blog in namespace team-web", url: "http 9090"},
		"a port by its number":               {name: "svc/blog", port: "9090", want: "service/blog in namespace team-web", url: "http 9090"},
		"the first TCP port":                 {name: "secure", want: "service/secure in namespace team-shop", url: "https 443"},
		"any port of a pod":                  {name: "one", port: "8080", want: "pod/one in namespace team-web", url: "http 8080"},
		"a port that is missing":             {name: "blog", port: "81", err: `has no TCP port "81": it has 9090 metrics, 80 http`},
		"a pod without ports":                {name: "pod/one", err: "declares no TCP port"},
		"a name of two teams":                {name: "both", err: "Service both exists in the namespaces team-shop, team-web: choose one of the teams with --team"},
		"a name of nobody":                   {name: "bolg", err: "the Services are blog, both, secure"},
		"a Service outside the teams'":       {name: "hidden", err: `no Service or pod "hidden"`},
		"a pod that is asked for by Service": {name: "svc/one", err: `no Service or pod "one"`},
		"another kind":                       {name: "deploy/blog", err: "write svc/NAME or pod/NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Find(t.Context(), client, []string{"team-shop", "team-web"}, test.name, test.port)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("the error is %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || got.String() != test.want {
				t.Fatalf("found %s, %v, want %s", got, err, test.want)
			}
			if url := fmt.Sprint(got.Scheme, " ", got.Port); url != test.url {
				t.Errorf("the port is %s, want %s", url, test.url)
			}
		})
	}
}

func TestThePortsOfAForward(t *testing.T) {
	for text, want := range map[string]struct {
		local int
		port  string
		fails bool
	}{
		"80": {0, "80", false}, "http": {0, "http", false}, "8080:80": {8080, "80", false}, ":http": {0, "http", false},
		"8080:": {8080, "", false}, "x:80": {0, "", true}, "70000:80": {0, "", true}, "-1:80": {0, "", true},
	} {
		got, err := Parse([]string{"name", text})
		if got.Local != want.local || got.Port != want.port || (err != nil) != want.fails {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

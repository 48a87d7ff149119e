package forward

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/strata-platform/strata/internal/status/snapshot"
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

func TestPagesAreThoseThatAreDeclaredAndRun(t *testing.T) {
	pod := func(name, runtime string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: name, Annotations: map[string]string{snapshot.AnnotationRuntime: runtime, snapshot.AnnotationRuntimeReason: "no network"}}}
	}
	declared := func(name, port string) *corev1.Service {
		s := service("team-web", name, corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}, corev1.ServicePort{Name: "http", Port: 80})
		s.Annotations = map[string]string{PageAnnotation: port}
		return s
	}
	endpoint := func(service, pod string) *discoveryv1.EndpointSlice {
		port, name := int32(80), "http"
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			Ports:      []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
			Endpoints:  []discoveryv1.Endpoint{{TargetRef: &corev1.ObjectReference{Kind: KindPod, Name: pod}}},
		}
	}
	objects := []runtime.Object{
		pod("a", "sandboxed"), pod("b", snapshot.RuntimeSimulated),
		declared("runs", "http"), endpoint("runs", "a"), declared("numbered", "80"), endpoint("numbered", "a"),
		declared("shows", "http"), endpoint("shows", "b"), declared("waits", "http"),
		declared("wrong", "dns"), endpoint("wrong", "a"), service("team-web", "inside", corev1.ServicePort{Name: "http", Port: 80}), endpoint("inside", "a"),
	}
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: localClass, Annotations: map[string]string{addressAnnotation: "127.0.0.1:15001"}}}
	local := fake.NewClientset(append(objects, class)...)
	for name, c := range map[string]struct {
		client kubernetes.Interface
		want   string
	}{
		"on the local target": {local, "http://numbered.team-web.localhost:15001/ http://runs.team-web.localhost:15001/"},
		"on Google Cloud":     {fake.NewClientset(objects...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			pages, err := Pages(t.Context(), c.client, []string{"team-web", "team-shop"})
			if err != nil {
				t.Fatal(err)
			}
			var urls []string
			for _, page := range pages {
				urls = append(urls, page.Result(page.Address).URL)
			}
			if got := strings.Join(urls, " "); got != c.want {
				t.Errorf("the pages are %q, want %q", got, c.want)
			}
		})
	}
	err := Target{Kind: KindService, Namespace: "team-web", Name: "shows", PortName: "http"}.Check(t.Context(), local)
	if !errors.Is(err, errSimulated) || !strings.Contains(err.Error(), "no network") {
		t.Errorf("the error of a simulated pod is %v", err)
	}
}

func TestTheUsualPortOfATargetStays(t *testing.T) {
	blog := Target{Kind: KindService, Namespace: "team-web", Name: "wordpress", Port: 80}
	if first := blog.ports(0); first[0] < firstUsual || first[0] >= firstUsual+usual || first[0] != blog.ports(0)[0] || first[1] != 0 {
		t.Errorf("the ports are %v and then %v", first, blog.ports(0))
	}
	if given := blog.ports(8080); len(given) != 1 || given[0] != 8080 {
		t.Errorf("the ports of one that is given are %v", given)
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

package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

func TestServiceNamesBecomeLoopbackAddresses(t *testing.T) {
	s := newServices(t)
	address := func(service string) string {
		namespace, rest, _ := strings.Cut(service, "/")
		name, port, _ := strings.Cut(rest, ":")
		a, err := s.Address(namespace, name, port)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	flux := address("flux-system/source-controller:80")
	for name, test := range map[string]struct{ in, want string }{
		"the short name":                   {"source-controller.flux-system.svc", flux},
		"the long name":                    {"source-controller.flux-system.svc.cluster.local", flux},
		"the long name with its dot":       {"--adv-addr=source-controller.flux-system.svc.cluster.local.", "--adv-addr=" + flux},
		"with a path":                      {"http://source-controller.flux-system.svc/a/b?c", "http://" + flux + "/a/b?c"},
		"with a port":                      {"tcp://db.team-web.svc:3306/x", "tcp://" + address("team-web/db:3306") + "/x"},
		"https has a port of its own":      {"https://hook.team-web.svc", "https://" + address("team-web/hook:443")},
		"several":                          {"a.b.svc:1,a.b.svc:2", address("b/a:1") + "," + address("b/a:2")},
		"user and password":                {"http://u:p@a.b.svc:1/", "http://u:p@" + address("b/a:1") + "/"},
		"a name of the outside stays":      {"https://db.prod.svc.example.com", "https://db.prod.svc.example.com"},
		"a longer last label stays":        {"a.b.svcs and a.b.svc-x", "a.b.svcs and a.b.svc-x"},
		"another cluster domain stays":     {"a.b.svc.cluster.locals", "a.b.svc.cluster.locals"},
		"a pod of a StatefulSet stays":     {"db-0.db.team-web.svc:3306", "db-0.db.team-web.svc:3306"},
		"a port that is none stays":        {"a.b.svc:99999", "a.b.svc:99999"},
		"no namespace stays":               {"http://source-controller.svc/", "http://source-controller.svc/"},
		"text without names is untouched":  {"--log-level=info", "--log-level=info"},
		"the empty text is untouched too":  {"", ""},
		"text around names stays in place": {"[a.b.svc:1] (a.b.svc:1)", "[" + address("b/a:1") + "] (" + address("b/a:1") + ")"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.Rewrite(test.in); got != test.want {
				t.Errorf("%q becomes %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestAServiceNameStaysIfNoPortIsFree(t *testing.T) {
	s := newServices(t)
	s.options.Listen = func(string) (net.Listener, error) { return nil, errors.New("no port is free") }
	if got, want := s.Rewrite("http://a.b.svc/x"), "http://a.b.svc/x"; got != want {
		t.Errorf("it becomes %q, want %q", got, want)
	}
}

// newServices returns Services whose cluster has no Services.
func newServices(t *testing.T) *Services {
	t.Helper()
	s := New(Options{
		Pods: func(string) []Pod { return nil }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Listen: func(string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	})
	t.Cleanup(s.Close)
	return s
}

// fakePod is a pod whose endpoint, on the target port 8080, is an address. An empty address means no endpoint.
type fakePod struct {
	object  *corev1.Pod
	address string
}

func (p fakePod) Object() *corev1.Pod { return p.object }

func (p fakePod) Endpoint(port corev1.ServicePort) func(context.Context) (net.Conn, error) {
	if p.address == "" || port.TargetPort.IntVal != 8080 {
		return nil
	}
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", p.address) }
}

// webServices returns Services of a cluster with two Services: "web" with port 80 for pods with the label app=web, and
// "outside" without a selector.
func webServices(t *testing.T, pods ...Pod) *Services {
	t.Helper()
	s := newServices(t)
	known := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for name, selector := range map[string]map[string]string{"web": {"app": "web"}, "outside": nil} {
		if err := known.Add(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	s.options.Lister = corev1listers.NewServiceLister(known)
	s.options.Pods = func(namespace string) []Pod {
		return slices.DeleteFunc(slices.Clone(pods), func(p Pod) bool { return p.Object().Namespace != namespace })
	}
	return s
}

// webPod returns a pod of the Service "web" after change has modified its object.
func webPod(address string, change func(*corev1.Pod)) Pod {
	o := nodetest.Pod(corev1.PodSpec{})
	o.Labels = map[string]string{"app": "web"}
	change(o)
	return fakePod{o, address}
}

func TestAServiceHasTheReadyPodsThatStay(t *testing.T) {
	// listen returns the address of a server that answers with a name.
	listen := func(name string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, name)
				conn.Close()
			}
		}()
		return l.Addr().String()
	}
	unchanged := func(*corev1.Pod) {}
	s := webServices(t,
		webPod(listen("one"), unchanged),
		webPod(listen("two"), unchanged),
		webPod("", unchanged),
		webPod(listen("leaving"), func(o *corev1.Pod) { o.DeletionTimestamp = &metav1.Time{} }),
		webPod(listen("stranger"), func(o *corev1.Pod) { o.Labels = nil }),
		webPod(listen("abroad"), func(o *corev1.Pod) { o.Namespace = "other" }))
	for service, want := range map[string][]string{"web": {"one", "two"}, "outside": nil, "unknown": nil} {
		var got []string
		for _, dial := range s.endpoints("default", service, 80) {
			conn, err := dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			name, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			got = append(got, string(name))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the pods %v, want %v", service, got, want)
		}
	}
	if got := s.endpoints("default", "web", 81); len(got) > 0 {
		t.Errorf("a port that the Service does not have has %d endpoints", len(got))
	}
}

func TestAConnectionUsesAnotherPodIfOneDoesNotAnswer(t *testing.T) {
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	unchanged := func(*corev1.Pod) {}
	s := webServices(t, webPod(closed.Addr().String(), unchanged), webPod(open.Addr().String(), unchanged))
	for range 20 {
		conn, err := s.Dial("default", "web", 80)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
}

func TestDialNamesAServiceWithoutPods(t *testing.T) {
	_, err := webServices(t).Dial("default", "web", 80)
	if err == nil || err.Error() != "no ready pod serves port 80 of Service default/web" {
		t.Errorf("the error is %v", err)
	}
}

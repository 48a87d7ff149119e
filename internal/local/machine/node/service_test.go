package node

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestServiceNamesBecomeLoopbackAddresses(t *testing.T) {
	s := newTestNode(t).services
	address := func(service string) string {
		namespace, rest, _ := strings.Cut(service, "/")
		name, port, _ := strings.Cut(rest, ":")
		a, err := s.address(namespace, name, port)
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
			if got := s.rewrite(test.in); got != test.want {
				t.Errorf("%q becomes %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestAServiceNameStaysWhereNoPortCanBeHad(t *testing.T) {
	s := newTestNode(t).services
	s.listen = func(string) (net.Listener, error) { return nil, errors.New("no port is free") }
	if got, want := s.rewrite("http://a.b.svc/x"), "http://a.b.svc/x"; got != want {
		t.Errorf("it becomes %q, want %q", got, want)
	}
}

// webNode returns a node whose cluster has two Services: "web" with port 80 for the pods of webPod, and one without a
// selector.
func webNode(t *testing.T) *Node {
	t.Helper()
	n := newTestNode(t)
	known := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	n.services.lister = corev1listers.NewServiceLister(known)
	for name, selector := range map[string]map[string]string{"web": {"app": "web"}, "outside": nil} {
		if err := known.Add(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// webPod adds a ready pod whose container port 8080 is port, after change has modified the pod.
func (n *Node) webPod(name string, port int, change func(p *pod)) {
	o := aPod(corev1.PodSpec{Containers: containersNamed("example.com/program:v1", "a")})
	o.Name, o.Labels = name, map[string]string{"app": "web"}
	p := newPod(n, o)
	p.containers[0].ready, p.containers[0].ports = true, map[int32]int{8080: port}
	change(p)
	n.running[podKey(o.Namespace, o.Name)] = p
}

func TestAServiceLeadsToPodsThatAreReadyAndStay(t *testing.T) {
	n := webNode(t)
	n.webPod("one", 1001, func(*pod) {})
	n.webPod("two", 1002, func(*pod) {})
	n.webPod("unready", 1003, func(p *pod) { p.containers[0].ready = false })
	n.webPod("leaving", 1004, func(p *pod) { p.object.DeletionTimestamp = &metav1.Time{} })
	n.webPod("stranger", 1005, func(p *pod) { p.object.Labels = nil })
	n.webPod("abroad", 1006, func(p *pod) { p.object.Namespace = "other" })
	n.webPod("simulated", 1007, func(p *pod) { p.containers[0].image = nil })
	n.webPod("elsewhere", 1008, func(p *pod) { p.containers[0].ports = nil })
	for service, want := range map[string][]string{"web": {"127.0.0.1:1001", "127.0.0.1:1002"}, "outside": nil, "unknown": nil} {
		targets, port := n.services.targets("default", service, 80)
		var got []string
		for _, target := range targets {
			got = append(got, target.address(port))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s leads to %v, want %v", service, got, want)
		}
	}
	if got, _ := n.services.targets("default", "web", 81); len(got) > 0 {
		t.Errorf("a port that the Service has not leads to %v", got)
	}
}

func TestAConnectionGoesToAnotherPodWhereOneDoesNotAnswer(t *testing.T) {
	n := webNode(t)
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	closed, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	n.webPod("gone", closed, func(*pod) {})
	n.webPod("there", open.Addr().(*net.TCPAddr).Port, func(*pod) {})
	for range 20 {
		conn, err := n.services.dial("default", "web", 80)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
}

func TestDialServiceNamesAServiceThatNobodyServes(t *testing.T) {
	_, err := webNode(t).DialService("default", "web", 80)
	if err == nil || err.Error() != "no ready pod serves port 80 of Service default/web" {
		t.Errorf("the error is %v", err)
	}
}

type servicePort struct {
	port corev1.ServicePort
	want bool
}

func servicePorts() map[string]servicePort {
	to := func(target intstr.IntOrString) corev1.ServicePort {
		return corev1.ServicePort{Port: 80, TargetPort: target}
	}
	return map[string]servicePort{
		"a declared number":           {to(intstr.FromInt32(8080)), true},
		"a declared name":             {to(intstr.FromString("metrics")), true},
		"a port of the catalogue":     {to(intstr.FromInt32(9999)), true},
		"a number that nobody names":  {to(intstr.FromInt32(7070)), false},
		"a name that nobody declares": {to(intstr.FromString("admin")), false},
	}
}

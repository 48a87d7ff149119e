package node

import (
	"errors"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

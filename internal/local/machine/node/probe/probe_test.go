package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fakeTarget is a run whose port 8080, "http", is a server. Its commands fail with the command's first word, or are
// unsupported.
type fakeTarget struct {
	server   string // HOST:PORT
	commands bool
}

func (f fakeTarget) Exec(_ context.Context, command []string) error {
	switch {
	case !f.commands:
		return errors.ErrUnsupported
	case command[0] == "true":
		return nil
	}
	return errors.New(command[0])
}

func (f fakeTarget) Address(host string, port intstr.IntOrString) string {
	if host != "" {
		return net.JoinHostPort(host, port.String())
	}
	if port.IntVal == 8080 || port.StrVal == "http" {
		return f.server
	}
	return "127.0.0.1:1" // No program listens there.
}

func (f fakeTarget) Dial(ctx context.Context, port intstr.IntOrString) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", f.Address("", port))
}

// Reach implements Target. The only other host is 192.0.2.1, whose port 80 is the server, too.
func (f fakeTarget) Reach(ctx context.Context, host string, port intstr.IntOrString) (net.Conn, error) {
	if net.JoinHostPort(host, port.String()) != "192.0.2.1:80" {
		return nil, errors.New("no such host")
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", f.server)
}

// probed returns the prober of a container with a server. The path of a request selects the server's status.
func probed(t *testing.T, commands bool) Prober {
	t.Helper()
	statuses := map[string]int{"/ok": 200, "/moved": 302, "/missing": 404, "/broken": 500}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Probe") == "no" || r.Host == "refused.example" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(statuses[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return Prober{Spec: &corev1.Container{Name: "a"}, Image: "probed:v1", Target: fakeTarget{strings.TrimPrefix(server.URL, "http://"), commands}}
}

func TestCheck(t *testing.T) {
	p := probed(t, true)
	get := func(path string, port intstr.IntOrString, headers ...corev1.HTTPHeader) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: port, HTTPHeaders: headers}}
	}
	run := func(command string) corev1.ProbeHandler {
		return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{command}}}
	}
	number, name := intstr.FromInt32(8080), intstr.FromString("http")
	for what, test := range map[string]struct {
		probe corev1.ProbeHandler
		err   string // empty if the probe succeeds
	}{
		"a good answer passes":                  {get("/ok", number), ""},
		"the port may have a name":              {get("ok", name), ""},
		"a redirection passes unfollowed":       {get("/moved", number), ""},
		"not found fails":                       {get("/missing", number), "404"},
		"a broken server fails":                 {get("/broken", number), "500"},
		"headers are sent":                      {get("/ok", number, corev1.HTTPHeader{Name: "X-Probe", Value: "no"}), "403"},
		"an open port passes":                   {corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: name}}, ""},
		"a closed port fails":                   {corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(9090)}}, "refused"},
		"a command that ends well passes":       {run("true"), ""},
		"a command that fails says why":         {run("unwell"), "unwell"},
		"a probe of another kind says that too": {corev1.ProbeHandler{}, "does not support"},
		"another host is asked": {corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Host: "192.0.2.1", Port: intstr.FromInt32(80), Path: "/broken"}}, "GET http://192.0.2.1:80/broken: 500"},
		"an open port of another host passes":  {corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Host: "192.0.2.1", Port: intstr.FromInt32(80)}}, ""},
		"a port of an unreachable host fails":  {corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Host: "192.0.2.2", Port: number}}, "no such host"},
		"the header Host names the wanted one": {get("/ok", number, corev1.HTTPHeader{Name: "Host", Value: "refused.example"}), "403"},
	} {
		t.Run(what, func(t *testing.T) {
			err := p.check(t.Context(), &corev1.Probe{ProbeHandler: test.probe, TimeoutSeconds: 1})
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("the outcome is %v, want %q", err, test.err)
			}
		})
	}
	p.Target = fakeTarget{}
	err := p.check(t.Context(), &corev1.Probe{ProbeHandler: run("true")})
	if want := "this node does not support this type of probe for the image probed:v1"; err == nil || err.Error() != want {
		t.Errorf("where the image allows no commands, the outcome is %v, want %q", err, want)
	}
}

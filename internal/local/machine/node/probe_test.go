package node

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probed returns a container with port 8080 on a server. The path of a request selects the server's status.
func probed(t *testing.T) *container {
	t.Helper()
	statuses := map[string]int{"/ok": 200, "/moved": 302, "/missing": 404, "/broken": 500}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Probe") == "no" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(statuses[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	spec := corev1.Container{Name: "a", Image: "example.com/program:v1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}
	p := newPod(newTestNode(t), aPod(corev1.PodSpec{Containers: []corev1.Container{spec}}))
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := p.containers[0]
	port, err := strconv.Atoi(server.URL[strings.LastIndex(server.URL, ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	free, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	c.ports = map[int32]int{8080: port, 9090: free}
	return c
}

func TestCheck(t *testing.T) {
	c := probed(t)
	r := &running{image: &Image{Repository: "probed", Commands: true}, env: []string{"COLOUR=green", "PATH=/usr/bin:/bin"}}
	get := func(path string, port intstr.IntOrString, headers ...corev1.HTTPHeader) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: port, HTTPHeaders: headers}}
	}
	run := func(script string) corev1.ProbeHandler {
		return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", script}}}
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
		"a command that ends well passes":       {run("test $COLOUR = green"), ""},
		"a command that fails says why":         {run("echo unwell; exit 3"), "exit status 3: unwell"},
		"a command that does not end fails":     {run("exec sleep 20"), "killed"},
		"what a command leaves is not awaited":  {run("sleep 20 & exit 4"), "exit status 4"},
		"nor does it make the command fail":     {run("sleep 20 & exit 0"), ""},
		"a probe of another kind says that too": {corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 8080}}, "not supported"},
	} {
		t.Run(what, func(t *testing.T) {
			began := time.Now()
			err := c.check(t.Context(), &corev1.Probe{ProbeHandler: test.probe, TimeoutSeconds: 1}, r)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("the outcome is %v, want %q", err, test.err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // client-go takes the types of this package
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/strata-platform/strata/internal/forward"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

// dialers are the two protocols of kubectl port-forward.
var dialers = map[string]func(c *cluster, address *url.URL) (httpstream.Dialer, error){
	"SPDY": func(c *cluster, address *url.URL) (httpstream.Dialer, error) {
		transport, upgrader, err := spdy.RoundTripperFor(c.config)
		return spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, address), err
	},
	"WebSocket": func(c *cluster, address *url.URL) (httpstream.Dialer, error) {
		return portforward.NewSPDYOverWebsocketDialer(address, c.config)
	},
}

// forward forwards a free local port to a port of the pod one, and returns the local address.
func (c *cluster) forward(t *testing.T, protocol, namespace string, port int) (address string, errors *bytes.Buffer) {
	t.Helper()
	dialer, err := dialers[protocol](c, c.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name("one").SubResource("portforward").URL())
	if err != nil {
		t.Fatal(err)
	}
	stop, ready, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	errors = &bytes.Buffer{}
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, stop, ready, io.Discard, errors)
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- forwarder.ForwardPorts() }()
	t.Cleanup(func() {
		close(stop)
		if err := <-done; err != nil {
			t.Log(err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- err
		t.Fatalf("the port is not forwarded: %v", err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), errors
}

func TestPortForwardCarriesBothDirectionsAndTheirEnds(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "whole", ":8080")
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	want := fmt.Sprintf("%d %x", len(data), sha256.Sum256(data))
	for protocol := range dialers {
		t.Run(protocol, func(t *testing.T) {
			address, _ := c.forward(t, protocol, ns, 8080)
			for range 3 {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := conn.Write(data); err != nil {
					t.Fatal(err)
				}
				if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
				if answer, err := io.ReadAll(conn); err != nil || string(answer) != want {
					t.Errorf("the pod answers %q, %v, want %q", answer, err, want)
				}
			}
		})
	}
	noSessions(t)
}

func TestPortForwardToAPortWithoutAServerEndsTheConnection(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "hold")
	address, _ := c.forward(t, "WebSocket", ns, 9)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if answer, _ := io.ReadAll(conn); len(answer) > 0 {
		t.Errorf("the connection answers %q", answer)
	}
}

func TestKubectlCopiesFilesToAndFromAPod(t *testing.T) {
	c := realCluster(t)
	cmdutil.BehaviorOnFatal(func(message string, _ int) { panic(fatal(message)) })
	t.Cleanup(cmdutil.DefaultBehaviorOnFatal)
	ns := c.interactive(t, "hold")
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.WriteFile(from, []byte("binary \x00\xff content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"cp", from, "one:/tmp/file"}, {"cp", "one:/tmp/file", to}} {
		if out, failure := c.kubectl(t, ns, args...); failure != "" {
			t.Fatalf("kubectl %s: %s %s", strings.Join(args, " "), out, failure)
		}
	}
	if content, err := os.ReadFile(to); err != nil || string(content) != "binary \x00\xff content" {
		t.Errorf("the copy is %q, %v", content, err)
	}
}

func TestAnEphemeralContainerSeesTheProcessesOfItsTargetOnly(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "hold", "marker")
	p := c.waitPod(t, ns, "one", "the pod is ready", isReady)
	for name, target := range map[string]string{"alone": "", "beside": "main"} {
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: p.Spec.Containers[0].Image, Args: []string{"processes"}},
			TargetContainerName:      target,
		})
	}
	if _, err := c.CoreV1().Pods(ns).UpdateEphemeralContainers(t.Context(), "one", p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p = c.waitPod(t, ns, "one", "the ephemeral containers have ended", func(p *corev1.Pod) error {
		for _, s := range p.Status.EphemeralContainerStatuses {
			if s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 || s.RestartCount != 0 {
				return fmt.Errorf("the status of %s is %+v", s.Name, s.State)
			}
		}
		if len(p.Status.EphemeralContainerStatuses) != 2 {
			return fmt.Errorf("%d statuses", len(p.Status.EphemeralContainerStatuses))
		}
		return nil
	})
	if err := isReady(p); err != nil {
		t.Errorf("the pod is not ready any more: %v", err)
	}
	if log := c.log(ns, "one", "alone"); strings.Contains(log, "marker") {
		t.Errorf("the container without a target sees %q", log)
	}
	if log := c.log(ns, "one", "beside"); !strings.Contains(log, "hold marker") {
		t.Errorf("the container with a target sees %q", log)
	}
}

func TestAForwardToAServiceReachesAReadyPod(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "serve", ":8080")
	if _, err := c.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "page"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "one"}, Ports: []corev1.ServicePort{{Name: "web", Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	target, err := forward.Find(t.Context(), c, []string{"default", ns}, "page", "")
	if err != nil {
		t.Fatal(err)
	}
	nodetest.Eventually(t, "the Service has a ready pod", func() error { return target.Check(t.Context(), c) })
	listening, err := forward.Listen(c.config, target, 0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := forward.Listen(c.config, target, 0); err != nil || again.Result().URL == listening.Result().URL {
		t.Errorf("a second forward has the address %s: %v", again.Result().URL, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		listening.Serve(ctx, func(err error) { t.Error(err) })
	}()
	for range 3 {
		response, err := http.Get(listening.Result().URL)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if !strings.HasPrefix(string(text), "one answers") {
			t.Errorf("the page is %q", text)
		}
	}
	stop()
	<-done
	noSessions(t)
}

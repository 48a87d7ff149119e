package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

// executors are the two protocols of kubectl.
var executors = map[string]func(c *cluster, address *url.URL) (remotecommand.Executor, error){
	"SPDY": func(c *cluster, address *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewSPDYExecutor(c.config, http.MethodPost, address)
	},
	"WebSocket": func(c *cluster, address *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, address.String())
	},
}

// call is a call of exec or attach. Command is nil for attach.
type call struct {
	Namespace, Pod, Container string
	Command                   []string
	remotecommand.StreamOptions
}

// stream makes a call with a protocol, and returns the exit code.
func (c *cluster) stream(ctx context.Context, protocol string, call call) (int, error) {
	options := runtime.Object(&corev1.PodAttachOptions{
		Container: call.Container, Stdin: call.Stdin != nil, Stdout: call.Stdout != nil, Stderr: call.Stderr != nil, TTY: call.Tty,
	})
	verb := "attach"
	if call.Command != nil {
		verb, options = "exec", &corev1.PodExecOptions{
			Container: call.Container, Command: call.Command, Stdin: call.Stdin != nil, Stdout: call.Stdout != nil, Stderr: call.Stderr != nil, TTY: call.Tty,
		}
	}
	address := c.CoreV1().RESTClient().Post().Resource("pods").Namespace(call.Namespace).Name(call.Pod).SubResource(verb).
		VersionedParams(options, scheme.ParameterCodec).URL()
	executor, err := executors[protocol](c, address)
	if err != nil {
		return 0, err
	}
	err = executor.StreamWithContext(ctx, call.StreamOptions)
	if exit, ok := errors.AsType[utilexec.CodeExitError](err); ok {
		return exit.Code, nil
	}
	return 0, err
}

// interactive creates a pod with a container that does nothing, and waits until it is ready.
func (c *cluster) interactive(t *testing.T, args ...string) (namespace string) {
	t.Helper()
	image := appImage(t)
	namespace = c.namespace(t)
	c.create(t, namespace, "one", corev1.PodSpec{TerminationGracePeriodSeconds: new(int64), Containers: []corev1.Container{{Name: "main", Image: image, Args: args}}})
	c.waitPod(t, namespace, "one", "the pod is ready", isReady)
	return namespace
}

// eachProtocol runs a test with each protocol.
func eachProtocol(t *testing.T, test func(t *testing.T, protocol string)) {
	t.Helper()
	for protocol := range executors {
		t.Run(protocol, func(t *testing.T) { test(t, protocol) })
	}
}

func TestExecConnectsStreamsAndReturnsTheExitCode(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "hold")
	eachProtocol(t, func(t *testing.T, protocol string) {
		for name, test := range map[string]struct {
			command  []string
			in       io.Reader
			out, err string
			code     int
			failure  string
		}{
			"output and errors": {command: []string{"/app", "both", "out", "err"}, out: "out", err: "err"},
			"an exit code":      {command: []string{"/app", "exit", "42"}, code: 42},
			"an input that ends": {command: []string{"/app", "sum"}, in: strings.NewReader("abc"),
				out: "3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"},
			"the image's variables and the container's user": {command: []string{"/app", "id"}, out: "0 0 []\n"},
			"a program that does not exist":                  {command: []string{"/missing"}, failure: "/missing"},
		} {
			t.Run(name, func(t *testing.T) {
				var out, failed bytes.Buffer
				code, err := c.stream(t.Context(), protocol, call{ns, "one", "main", test.command,
					remotecommand.StreamOptions{Stdin: test.in, Stdout: &out, Stderr: &failed}})
				if test.failure != "" {
					if err == nil || !strings.Contains(err.Error(), test.failure) {
						t.Errorf("the error is %v, want one with %q", err, test.failure)
					}
					return
				}
				if err != nil || code != test.code || out.String() != test.out || failed.String() != test.err {
					t.Errorf("exit code %d, %v, output %q, errors %q, want %+v", code, err, out.String(), failed.String(), test)
				}
			})
		}
	})
}

// sizeQueue delivers sizes of a terminal to client-go.
type sizeQueue chan remotecommand.TerminalSize

func (q sizeQueue) Next() *remotecommand.TerminalSize {
	size, more := <-q
	if !more {
		return nil
	}
	return &size
}

// until is a writer that closes seen when it has got a text.
type until struct {
	text string
	seen chan struct{}
	all  bytes.Buffer
}

func newUntil(text string) *until { return &until{text: text, seen: make(chan struct{})} }

func (u *until) Write(p []byte) (int, error) {
	before := strings.Contains(u.all.String(), u.text)
	u.all.Write(p)
	if !before && strings.Contains(u.all.String(), u.text) {
		close(u.seen)
	}
	return len(p), nil
}

// await waits for a channel to close.
func await(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(nodetest.Patience):
		t.Fatalf("timeout: waited until %s", what)
	}
}

func TestExecWithATerminalFollowsTheSizeOfTheClientsTerminal(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "hold")
	eachProtocol(t, func(t *testing.T, protocol string) {
		sizes := make(sizeQueue, 2)
		sizes <- remotecommand.TerminalSize{Width: 101, Height: 31}
		in, typed := io.Pipe()
		out := newUntil("202x62")
		done := make(chan error, 1)
		first := newUntil("101x31")
		go func() {
			_, err := c.stream(t.Context(), protocol, call{ns, "one", "main", []string{"/app", "sizes"},
				remotecommand.StreamOptions{Stdin: in, Stdout: io.MultiWriter(first, out), Tty: true, TerminalSizeQueue: sizes}})
			done <- err
		}()
		await(t, first.seen, "the program sees the first size")
		sizes <- remotecommand.TerminalSize{Width: 202, Height: 62}
		await(t, out.seen, "the program sees the second size")
		fmt.Fprint(typed, "\x04") // the end of the input, as a person types it
		if err := <-done; err != nil {
			t.Errorf("the command ended with %v", err)
		}
		close(sizes)
	})
}

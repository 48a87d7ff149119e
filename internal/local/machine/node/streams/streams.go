// Package streams serves the calls of the kubelet's API that carry streams: exec, attach and port-forward. A client speaks
// SPDY or WebSocket. The API server translates the newer WebSocket protocols of kubectl to SPDY.
package streams

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// These messages answer calls for pods that do not run in sandboxes. Each names an alternative.
const (
	NoExec        = "exec is not supported on this node: a pod is a process of this machine, or simulated: run the command on this machine"
	NoAttach      = "attach is not supported on this node: a pod's process has no input: see its output with kubectl logs"
	NoPortForward = "port-forward is not supported on this node: a pod's process listens on 127.0.0.1 itself: its arguments say on which port"
)

// Pod is a pod of the node.
type Pod interface {
	// Interactive returns the current run of a container, for exec and attach. The error is runtime.ErrNoContainer,
	// runtime.ErrNotRunning or errors.ErrUnsupported.
	Interactive(container string) (runtime.Interactive, error)
	// Forward returns a function that connects to a TCP port of the pod. The error is runtime.ErrNotRunning or
	// errors.ErrUnsupported.
	Forward() (func(ctx context.Context, port int32) (net.Conn, error), error)
}

// Limits of the server.
const (
	// maxSessions bounds the sessions of the node.
	maxSessions = 1000
	// idleTimeout ends a session without traffic, as in the kubelet.
	idleTimeout = 4 * time.Hour
	// streamsTimeout is how long a client may take to open the streams that it has announced.
	streamsTimeout = remotecommand.DefaultStreamCreationTimeout
)

// Server serves the sessions. Its methods may be called concurrently.
type Server struct {
	// pod returns a pod of the node, or nil.
	pod    func(namespace, name string) Pod
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{} // each session holds one

	mu       sync.Mutex
	closed   bool
	sessions sync.WaitGroup
}

// New returns a server. pod returns a pod that runs on the node, or nil. The caller must close the server.
func New(pod func(namespace, name string) Pod) *Server {
	s := &Server{pod: pod, slots: make(chan struct{}, maxSessions)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Register adds the calls to the node's API.
func (s *Server) Register(mux *http.ServeMux) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{container}", s.exec)
		mux.HandleFunc(method+" /attach/{namespace}/{pod}/{container}", s.attach)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}", s.forward)
	}
}

// Close ends all sessions with their commands, and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.sessions.Wait()
}

// exec serves kubectl exec.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	run, ok := s.container(w, r, NoExec)
	if !ok {
		return
	}
	command := r.URL.Query()["command"]
	if len(command) == 0 {
		http.Error(w, "give a command", http.StatusBadRequest)
		return
	}
	options, err := optionsOf(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.serve(w, r, func(session *session) {
		remotecommand.ServeExec(session, session.request, executor{run, session, options}, r.PathValue("pod"), "", r.PathValue("container"), command, options,
			idleTimeout, streamsTimeout, remotecommand.SupportedStreamingProtocols)
	})
}

// attach serves kubectl attach.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) {
	run, ok := s.container(w, r, NoAttach)
	if !ok {
		return
	}
	options, err := optionsOf(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.serve(w, r, func(session *session) {
		remotecommand.ServeAttach(session, session.request, executor{run, session, options}, r.PathValue("pod"), "", r.PathValue("container"), options,
			idleTimeout, streamsTimeout, remotecommand.SupportedStreamingProtocols)
	})
}

// forward serves kubectl port-forward.
func (s *Server) forward(w http.ResponseWriter, r *http.Request) {
	p := s.pod(r.PathValue("namespace"), r.PathValue("pod"))
	if p == nil {
		reject(w, errNoPod(r), "")
		return
	}
	dial, err := p.Forward()
	if err != nil {
		reject(w, fmt.Errorf("pod %q: %w", r.PathValue("pod"), err), NoPortForward)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.serve(w, r, func(session *session) {
		portforward.ServePortForward(session, session.request, forwarder{dial, session}, r.PathValue("pod"), "", options,
			idleTimeout, streamsTimeout, portforward.SupportedProtocols)
	})
}

// container returns the container that a request names. If it returns false, it has answered the request. unsupported is the
// answer for a pod that does not run in a sandbox.
func (s *Server) container(w http.ResponseWriter, r *http.Request, unsupported string) (runtime.Interactive, bool) {
	p := s.pod(r.PathValue("namespace"), r.PathValue("pod"))
	if p == nil {
		reject(w, errNoPod(r), "")
		return nil, false
	}
	run, err := p.Interactive(r.PathValue("container"))
	if err != nil {
		reject(w, fmt.Errorf("container %q of pod %q: %w", r.PathValue("container"), r.PathValue("pod"), err), unsupported)
		return nil, false
	}
	return run, true
}

func errNoPod(r *http.Request) error {
	return fmt.Errorf("pod %q of namespace %q does not run on this node", r.PathValue("pod"), r.PathValue("namespace"))
}

// reject answers a request that has no session.
func reject(w http.ResponseWriter, err error, unsupported string) {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		http.Error(w, unsupported, http.StatusNotImplemented)
	case errors.Is(err, runtime.ErrNotRunning):
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		http.Error(w, err.Error(), http.StatusNotFound)
	}
}

// optionsOf returns the streams that a request asks for. A terminal has no stream of its own for errors.
func optionsOf(query url.Values) (*remotecommand.Options, error) {
	asks := func(name string) bool { return slices.Contains([]string{"1", "true"}, query.Get(name)) }
	o := &remotecommand.Options{
		Stdin: asks(remotecommand.ExecStdinParam), Stdout: asks(remotecommand.ExecStdoutParam),
		Stderr: asks(remotecommand.ExecStderrParam), TTY: asks(remotecommand.ExecTTYParam),
	}
	o.Stderr = o.Stderr && !o.TTY
	if !o.Stdin && !o.Stdout && !o.Stderr {
		return nil, errors.New("ask for at least one of the streams input, output and error")
	}
	return o, nil
}

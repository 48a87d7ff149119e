package node

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/logs"
)

// PortName is the name of the reserved port of the node's API.
const PortName = "node"

// headerTimeout is how long a client may take to send the header of a request.
const headerTimeout = 10 * time.Second

// These messages answer calls of the kubelet's API that this node does not implement. Each names an alternative.
const (
	noExec        = "exec is not supported on this node: a pod is a process of this machine, or simulated: run the command on this machine"
	noAttach      = "attach is not supported on this node: a pod's process has no input: see its output with kubectl logs"
	noPortForward = "port-forward is not supported on this node: a pod's process listens on 127.0.0.1 itself: its arguments say on which port"
)

// api returns the part of the kubelet's API that the node implements: the logs of containers.
func (n *Node) api() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /containerLogs/{namespace}/{pod}/{container}", logs.Server{Folder: n.host.Logs, Pod: n.object})
	for prefix, why := range map[string]string{"/exec/": noExec, "/attach/": noAttach, "/portForward/": noPortForward} {
		mux.HandleFunc(prefix, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, why, http.StatusNotImplemented) })
	}
	return mux
}

// serve serves the node's API on l until the caller calls stop. The TLS configuration authenticates the clients.
func (n *Node) serve(l net.Listener, config *tls.Config) (stop func()) {
	server := &http.Server{
		Handler: n.api(), TLSConfig: config, ReadHeaderTimeout: headerTimeout,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelWarn),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("serve the node's API", "error", err)
		}
	}()
	return func() {
		server.Close()
		<-done
	}
}

// object returns a pod of this node, even one that ended before the node started. It returns nil if the node has no such
// pod.
func (n *Node) object(namespace, name string) *corev1.Pod {
	if p := (*provider)(n).pod(namespace, name); p != nil {
		return p.Object()
	}
	object, err := n.lister.Pods(namespace).Get(name)
	if err != nil {
		return nil
	}
	return object
}

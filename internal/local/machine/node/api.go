package node

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// portName is the name of the reserved port of the node's API.
const portName = "node"

// headerTimeout is how long a client may take to send the header of a request.
const headerTimeout = 10 * time.Second

// These messages refuse the parts of the kubelet's API that this node lacks, and name an alternative.
const (
	noExec        = "exec is not supported on this node: a pod is a process of this machine, or simulated: run the command on this machine"
	noAttach      = "attach is not supported on this node: a pod's process has no input: see its output with kubectl logs"
	noPortForward = "port-forward is not supported on this node: a pod's process listens on 127.0.0.1 itself: its arguments say on which port"
)

// api returns the emulated part of the kubelet's API. The API server reads logs there.
func (n *Node) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", n.serveLogs)
	for prefix, why := range map[string]string{"/exec/": noExec, "/attach/": noAttach, "/portForward/": noPortForward} {
		mux.HandleFunc(prefix, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, why, http.StatusNotImplemented) })
	}
	return mux
}

// serve serves the node's API until stop. The TLS configuration authenticates the clients.
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

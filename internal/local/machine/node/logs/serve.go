package logs

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// Server answers the API server's requests for kubectl logs. The request's path values are namespace, pod and
// container. All fields are required.
type Server struct {
	Folder Folder
	// Pod returns the object of a pod of this node, even of one that ended before the node started. It returns nil if
	// the node has no such pod.
	Pod func(namespace, name string) *corev1.Pod
}

// run identifies one run of a container by the number of earlier restarts.
type run struct {
	namespace, pod, container string
	restarts                  int32
}

// status returns the container's status, or nil if there is no such container.
func (s Server) status(r run) *corev1.ContainerStatus {
	object := s.Pod(r.namespace, r.pod)
	if object == nil {
		return nil
	}
	for _, status := range slices.Concat(object.Status.InitContainerStatuses, object.Status.ContainerStatuses, object.Status.EphemeralContainerStatuses) {
		if status.Name == r.container {
			return &status
		}
	}
	return nil
}

// isRunning reports whether the run is still in progress.
func (s Server) isRunning(r run) bool {
	status := s.status(r)
	return status != nil && status.State.Running != nil && status.RestartCount == r.restarts
}

// ServeHTTP writes a container's log.
func (s Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	options, err := parseQuery(r.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked := run{namespace: r.PathValue("namespace"), pod: r.PathValue("pod"), container: r.PathValue("container")}
	status := s.status(asked)
	if status == nil {
		http.Error(w, fmt.Sprintf("container %q in pod %q is not on this node", asked.container, asked.pod), http.StatusBadRequest)
		return
	}
	asked.restarts = status.RestartCount
	previous := options.previous
	waiting, ended := status.State.Waiting, status.LastTerminationState.Terminated != nil
	path := s.Folder.Path(asked.namespace, asked.pod, asked.container)
	switch {
	case previous && !ended:
		http.Error(w, fmt.Sprintf("previous terminated container %q in pod %q not found", asked.container, asked.pod), http.StatusBadRequest)
		return
	case waiting != nil && !ended:
		why := strings.TrimSuffix(waiting.Reason+": "+waiting.Message, ": ")
		http.Error(w, fmt.Sprintf("container %q in pod %q is waiting to start: %s", asked.container, asked.pod, why), http.StatusBadRequest)
		return
	case status.ImageID == runtime.ImageID(runtime.Simulated):
		fmt.Fprintf(w, "pod %s is simulated: container %s does not run and has no output\n", asked.pod, asked.container)
		return
	case previous && waiting == nil:
		// A waiting container has not started its next run yet, so that the previous run is the latest one and has the
		// log at path.
		path = logfile.Previous(path)
	}
	out := &stream{ResponseWriter: w}
	if options.follow && !previous {
		options.Follow = func() bool {
			out.flush()
			return s.isRunning(asked)
		}
	}
	if err := logfile.Read(r.Context(), path, options.Options, out); err != nil {
		if out.begun {
			// The handler has sent the status already. Only a broken connection tells the client that the log is
			// incomplete.
			panic(http.ErrAbortHandler)
		}
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// stream is a response that can flush what the handler has written.
type stream struct {
	http.ResponseWriter
	begun bool
}

// Write flushes at once, so that a client that follows a log sees each line without delay.
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.flush()
	return n, err
}

// flush sends the status and what the handler has written. Without output yet, the client learns that it is connected.
func (s *stream) flush() {
	s.begun = true
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

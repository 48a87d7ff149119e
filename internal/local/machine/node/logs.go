package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
)

// Each container has a log of its latest run. logfile.Previous names the log of the run before.

// podLogs returns the folder of the containers' logs.
func (n *Node) podLogs() string { return filepath.Join(n.logs, "pods") }

// logPath returns the path of a container's log. The underscore separates the names unambiguously, because Kubernetes
// names contain none.
func (n *Node) logPath(namespace, pod, container string) string {
	return filepath.Join(n.podLogs(), strings.Join([]string{namespace, pod, container}, "_")+".log")
}

func (c *container) logPath() string {
	o := c.pod.current()
	return c.pod.node.logPath(o.Namespace, o.Name, c.spec.Name)
}

// removeLogs removes the logs of the pod's containers.
func (p *pod) removeLogs() {
	for _, c := range p.all() {
		_ = logfile.Remove(c.logPath())
		_ = logfile.Remove(logfile.Previous(c.logPath()))
	}
}

// These bounds limit the part of a container's log that its status shows, as in the kubelet (Kubernetes, "Determine
// the Reason for Pod Failure").
const (
	lastLines = 80
	lastBytes = 2048
)

// lastWords returns the end of the log of the container's latest run.
func (c *container) lastWords() string {
	lines := int64(lastLines)
	var text bytes.Buffer
	// Without a log, the status merely has no message.
	_ = logfile.Read(context.Background(), c.logPath(), logfile.Options{Tail: &lines}, &text)
	words := bytes.TrimSpace(text.Bytes())
	return string(bytes.ToValidUTF8(words[max(0, len(words)-lastBytes):], nil))
}

// pruneLogs removes the logs of pods that were deleted while no node ran.
func (n *Node) pruneLogs() error {
	entries, err := os.ReadDir(n.podLogs())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the logs of pods that are gone: %w", err)
	}
	for _, entry := range entries {
		name := strings.SplitN(entry.Name(), "_", 3)
		if len(name) < 3 || n.object(name[0], name[1]) != nil {
			continue
		}
		if err := os.Remove(filepath.Join(n.podLogs(), entry.Name())); err != nil {
			return fmt.Errorf("remove the logs of pods that are gone: %w", err)
		}
	}
	return nil
}

// object returns a pod of this node, even one that ended before the node started. It returns nil if there is none.
func (n *Node) object(namespace, name string) *corev1.Pod {
	if p := (*provider)(n).pod(namespace, name); p != nil {
		return p.current()
	}
	object, err := n.lister.Pods(namespace).Get(name)
	if err != nil {
		return nil
	}
	return object
}

// run identifies one run of a container by the number of earlier restarts.
type run struct {
	namespace, pod, container string
	restarts                  int32
}

// status returns the container's status, or nil if there is no such container.
func (n *Node) status(r run) *corev1.ContainerStatus {
	object := n.object(r.namespace, r.pod)
	if object == nil {
		return nil
	}
	for _, s := range slices.Concat(object.Status.InitContainerStatuses, object.Status.ContainerStatuses) {
		if s.Name == r.container {
			return &s
		}
	}
	return nil
}

// goesOn reports whether the run is still in progress.
func (n *Node) goesOn(r run) bool {
	s := n.status(r)
	return s != nil && s.State.Running != nil && s.RestartCount == r.restarts
}

// serveLogs answers the API server's requests for kubectl logs.
func (n *Node) serveLogs(w http.ResponseWriter, r *http.Request) {
	options, err := logOptions(r.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked := run{namespace: r.PathValue("namespace"), pod: r.PathValue("pod"), container: r.PathValue("container")}
	status := n.status(asked)
	if status == nil {
		http.Error(w, fmt.Sprintf("container %q in pod %q is not on this node", asked.container, asked.pod), http.StatusBadRequest)
		return
	}
	asked.restarts = status.RestartCount
	previous := options.previous
	waiting, ended := status.State.Waiting, status.LastTerminationState.Terminated != nil
	path := n.logPath(asked.namespace, asked.pod, asked.container)
	switch {
	case previous && !ended:
		http.Error(w, fmt.Sprintf("previous terminated container %q in pod %q not found", asked.container, asked.pod), http.StatusBadRequest)
		return
	case waiting != nil && !ended:
		why := strings.TrimSuffix(waiting.Reason+": "+waiting.Message, ": ")
		http.Error(w, fmt.Sprintf("container %q in pod %q is waiting to start: %s", asked.container, asked.pod, why), http.StatusBadRequest)
		return
	case status.ImageID == imageID(RuntimeSimulated):
		fmt.Fprintf(w, "pod %s is simulated: container %s does not run and has no output\n", asked.pod, asked.container)
		return
	case previous && waiting == nil:
		// The container waits for its next start, so the previous log belongs to the latest run.
		path = logfile.Previous(path)
	}
	out := &stream{ResponseWriter: w}
	if options.follow && !previous {
		options.Follow = func() bool {
			out.flush()
			return n.goesOn(asked)
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

func (s *stream) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.flush()
	return n, err
}

func (s *stream) flush() {
	s.begun = true
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

// logQuery holds the options of a request for a log.
type logQuery struct {
	logfile.Options
	follow, previous bool
}

// logOptions parses the options in the API server's form (Kubernetes, PodLogOptions).
func logOptions(q url.Values, now time.Time) (o logQuery, err error) {
	number := func(name string) (value int64) {
		if text := q.Get(name); text != "" && err == nil {
			var unsigned uint64
			if unsigned, err = strconv.ParseUint(text, 10, 63); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			value = int64(unsigned)
		}
		return value
	}
	flag := func(name string) (value bool) {
		if text := q.Get(name); text != "" && err == nil {
			if value, err = strconv.ParseBool(text); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		return value
	}
	o.follow, o.previous, o.Stamps = flag("follow"), flag("previous"), flag("timestamps")
	o.Limit = number("limitBytes")
	if q.Has("tailLines") {
		tail := number("tailLines")
		o.Tail = &tail
	}
	if seconds := number("sinceSeconds"); seconds > 0 {
		o.Since = now.Add(-time.Duration(seconds) * time.Second)
	}
	if text := q.Get("sinceTime"); text != "" && err == nil {
		if o.Since, err = time.Parse(time.RFC3339, text); err != nil {
			err = fmt.Errorf("sinceTime: %w", err)
		}
	}
	return o, err
}

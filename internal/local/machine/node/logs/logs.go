// Package logs keeps the logs of the containers, and serves them to the API server.
//
// A container has a log of its latest run. logfile.Previous names the log of the run before.
package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
)

// Folder is the path of the folder of the containers' logs. It need not exist.
type Folder string

// Path returns the path of a container's log. The underscore separates the names unambiguously, because Kubernetes
// names contain none.
func (f Folder) Path(namespace, pod, container string) string {
	return filepath.Join(string(f), strings.Join([]string{namespace, pod, container}, "_")+".log")
}

// Remove removes the logs of a container's runs. path is the path of the container's log. Remove ignores errors: Prune
// removes the rest at the node's next start.
func Remove(path string) {
	_ = logfile.Remove(path)
	_ = logfile.Remove(logfile.Previous(path))
}

// Prune removes the logs of pods that do not exist. The node calls it at its start, for pods that were deleted while no
// node ran.
func (f Folder) Prune(exists func(namespace, pod string) bool) error {
	entries, err := os.ReadDir(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the logs of deleted pods: %w", err)
	}
	for _, entry := range entries {
		name := strings.SplitN(entry.Name(), "_", 3)
		if len(name) < 3 || exists(name[0], name[1]) {
			continue
		}
		if err := os.Remove(filepath.Join(string(f), entry.Name())); err != nil {
			return fmt.Errorf("remove the logs of deleted pods: %w", err)
		}
	}
	return nil
}

// These bounds limit the part of a container's log that its status shows, as in the kubelet (Kubernetes, "Determine
// the Reason for Pod Failure").
const (
	tailLines = 80
	tailBytes = 2048
)

// Tail returns the end of a container's log, in valid UTF-8, for the container's status. Without a log it returns "": the
// status then has no message.
func Tail(path string) string {
	lines := int64(tailLines)
	var text bytes.Buffer
	_ = logfile.Read(context.Background(), path, logfile.Options{Tail: &lines}, &text)
	end := bytes.TrimSpace(text.Bytes())
	return string(bytes.ToValidUTF8(end[max(0, len(end)-tailBytes):], nil))
}

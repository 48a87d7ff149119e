package sandboxed

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// maxMessage is the maximum length of a termination message in bytes (Kubernetes, "Customizing the termination message").
const maxMessage = 4096

// messageFile returns the path of the file that a container finds at its terminationMessagePath.
func messageFile(c runtime.Container) string {
	return filepath.Join(runtime.Files(c.Dir), "message-"+c.Spec.Name)
}

// createMessage creates the empty file for the message of a new run. Every user of the container may write it.
func createMessage(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return err
	}
	return os.Chmod(path, 0o666)
}

// messageOf returns the message that a container has left, or "". The status of a failed container without a message shows the
// end of its log.
func messageOf(c runtime.Container) string {
	file, err := os.OpenFile(messageFile(c), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	raw, _ := io.ReadAll(io.LimitReader(file, maxMessage))
	// The container may have filled the disk with it.
	_ = os.Remove(messageFile(c))
	return strings.ToValidUTF8(string(raw), "")
}

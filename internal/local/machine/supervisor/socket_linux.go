package supervisor

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// maxSocketPath is the maximum length in bytes of a path in sockaddr_un (unix(7)).
const maxSocketPath = 107

// socketPath returns a path of the control socket that is short enough for the kernel. The caller calls done after
// use. For a home with a long path, it uses a descriptor of the socket's folder.
func socketPath(h home.Home) (path string, done func(), err error) {
	if len(h.Socket()) <= maxSocketPath {
		return h.Socket(), func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(h.Socket()))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(h.Socket())), func() { dir.Close() }, nil
}

package supervisor

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/internal/local/home"
)

// maxSocketPath is what fits into sockaddr_un (unix(7)).
const maxSocketPath = 107

// socketPath returns a path of the control socket that is short enough for the kernel, and what to call when it is
// used up. A deep home is reached through a descriptor of its folder.
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

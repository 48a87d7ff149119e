package home

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxSocketPath is the maximum length in bytes of a path in sockaddr_un (unix(7)).
const maxSocketPath = 107

// SocketPath returns a path of a Unix socket that is short enough for the kernel. The caller calls done after use. For a
// home with a long path, it uses a descriptor of the socket's folder.
func SocketPath(socket string) (path string, done func(), err error) {
	if len(socket) <= maxSocketPath {
		return socket, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket)), func() { dir.Close() }, nil
}

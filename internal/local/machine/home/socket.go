package home

import (
	"errors"
	"net"
	"os"
)

// ListenUnix listens on a Unix socket of mode 0600. It replaces an existing socket, so the caller must know that no other
// process uses it. The caller removes the file.
func ListenUnix(socket string) (net.Listener, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	path, done, err := SocketPath(socket)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	// Only this process may be able to resolve the path, so the caller removes the file by its real name.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

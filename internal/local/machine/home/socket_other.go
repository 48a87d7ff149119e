//go:build !linux

package home

// SocketPath returns the path of a Unix socket.
func SocketPath(socket string) (path string, done func(), err error) {
	return socket, func() {}, nil
}

//go:build !linux

package supervisor

import "github.com/strata-platform/strata/internal/local/machine/home"

// socketPath returns the path of the control socket.
func socketPath(h home.Home) (path string, done func(), err error) {
	return h.Socket(), func() {}, nil
}

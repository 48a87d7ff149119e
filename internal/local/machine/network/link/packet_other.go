//go:build !linux

package link

import (
	"fmt"
	"net"
	"os"
	"runtime"

	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Unsupported is the error of a system without packet sockets.
type Unsupported struct{ OS string }

// Error names the system.
func (u *Unsupported) Error() string {
	return fmt.Sprintf("pods have no network on %s: their links need packet sockets of Linux", u.OS)
}

// Open returns an *Unsupported.
func Open(*os.File, net.HardwareAddr, int) (stack.LinkEndpoint, error) {
	return nil, &Unsupported{runtime.GOOS}
}

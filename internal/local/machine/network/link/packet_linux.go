package link

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Open returns the link behind an AF_PACKET socket that is bound to the gateway's end of a pod's veth pair, with the MTU
// of that pair. The endpoint owns a duplicate of the file's descriptor; the caller closes the file.
//
// The kernel checks no checksums on a veth pair, because no bit gets lost in memory, and leaves out those of local
// senders. So the endpoint does not check them either.
func Open(file *os.File, gatewayMAC net.HardwareAddr, mtu int) (stack.LinkEndpoint, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("open a pod's link: %w", err)
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(given uintptr) { fd, dupErr = unix.FcntlInt(given, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, fmt.Errorf("open a pod's link: %w", err)
	}
	if dupErr != nil {
		return nil, fmt.Errorf("open a pod's link: duplicate its descriptor: %w", dupErr)
	}
	ep, err := fdbased.New(&fdbased.Options{FDs: []int{fd}, MTU: uint32(mtu), EthernetHeader: true,
		Address: tcpip.LinkAddress(gatewayMAC), RXChecksumOffload: true, PacketDispatchMode: fdbased.RecvMMsg,
		ProcessorsPerChannel: 1})
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("open a pod's link: %w", err)
	}
	return &socket{LinkEndpoint: ep, fd: fd}, nil
}

// socket closes the descriptor after the last read.
type socket struct {
	stack.LinkEndpoint
	fd int
}

// Attach implements stack.LinkEndpoint. A nil dispatcher ends the endpoint; Attach(nil) of the inner one waits for its
// reader.
func (s *socket) Attach(dispatcher stack.NetworkDispatcher) {
	s.LinkEndpoint.Attach(dispatcher)
	if dispatcher == nil && s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
	}
}

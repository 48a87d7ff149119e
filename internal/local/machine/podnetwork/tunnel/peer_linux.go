package tunnel

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// checkPeer returns an error unless the process with a PID has opened a connection (unix(7), SO_PEERCRED).
func checkPeer(conn net.Conn, pid int) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("find the process that connects: %w", failed)
	}
	if pid == 0 || int(peer.Pid) != pid {
		return fmt.Errorf("process %d of user %d connects, not the API server", peer.Pid, peer.Uid)
	}
	return nil
}

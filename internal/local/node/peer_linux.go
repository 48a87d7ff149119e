package node

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

// checkPeer refuses a connection over loopback that another user of this machine has opened. Flux's servers ask nobody
// who he is.
func checkPeer(conn net.Conn) error {
	user, err := peer(conn)
	if err != nil {
		return fmt.Errorf("find out who connects from %s: %w", conn.RemoteAddr(), err)
	}
	if user != os.Getuid() {
		return fmt.Errorf("user %d of this machine connects from %s, not the one who runs this platform", user, conn.RemoteAddr())
	}
	return nil
}

// peer returns the user whose socket is the other end of a connection over IPv4 loopback, as the kernel lists it
// (proc(5), /proc/net/tcp: local and remote address, state, user and inode are columns 2, 3, 4, 8 and 10).
func peer(conn net.Conn) (int, error) {
	own, other := conn.LocalAddr().(*net.TCPAddr), conn.RemoteAddr().(*net.TCPAddr)
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, err
	}
	local, remote := []byte(hexAddress(other)), []byte(hexAddress(own))
	for line := range bytes.Lines(table) {
		columns := bytes.Fields(line)
		if len(columns) < 10 || !bytes.Equal(columns[1], local) || !bytes.Equal(columns[2], remote) {
			continue
		}
		// A socket that its process has closed belongs to nobody.
		if string(columns[9]) == "0" {
			break
		}
		return strconv.Atoi(string(columns[7]))
	}
	return 0, errors.New("its socket is closed")
}

// hexAddress is an address as the kernel lists it: the bytes of IPv4 as a number of this machine, and the port.
func hexAddress(a *net.TCPAddr) string {
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}

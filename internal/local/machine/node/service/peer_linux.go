package service

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

// checkPeer rejects a loopback connection from another user of this machine, because Flux's servers do not
// authenticate their clients.
func checkPeer(conn net.Conn) error {
	user, err := peer(conn)
	if err != nil {
		return fmt.Errorf("find the user who connects from %s: %w", conn.RemoteAddr(), err)
	}
	if user != os.Getuid() {
		return fmt.Errorf("user %d of this machine connects from %s, not the user who runs this platform", user, conn.RemoteAddr())
	}
	return nil
}

// peer returns the user who owns the other end of an IPv4 loopback connection. It reads the kernel's table (proc(5),
// /proc/net/tcp: local and remote address, state, user and inode are columns 2, 3, 4, 8 and 10).
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
		// A closed socket has no inode and no owner.
		if string(columns[9]) == "0" {
			break
		}
		return strconv.Atoi(string(columns[7]))
	}
	return 0, errors.New("its socket is closed")
}

// hexAddress formats an address as in the kernel's table: the IPv4 address as a number in native byte order, and the
// port.
func hexAddress(a *net.TCPAddr) string {
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}

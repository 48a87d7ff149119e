package attack

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/test/stratatest"
)

// listener is a listening socket in /proc/net/tcp.
type listener struct{ host, port, inode string }

// listeners returns the listening TCP sockets of this machine (proc(5), /proc/net/tcp: state 0A).
func listeners() []listener {
	var list []listener
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		content, _ := os.ReadFile(file)
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line)
			const stateField, inodeField, listens = 3, 9, "0A"
			if len(fields) <= inodeField || fields[stateField] != listens {
				continue
			}
			host, port, _ := strings.Cut(fields[1], ":")
			number, err := strconv.ParseUint(port, 16, 16)
			if err != nil {
				continue
			}
			list = append(list, listener{addressOf(host), strconv.FormatUint(number, 10), fields[inodeField]})
		}
	}
	return list
}

// addressOf decodes an address in the kernel's format: words of 32 bits in little-endian order. It returns the loopback
// address in place of the unspecified address.
func addressOf(text string) string {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return "127.0.0.1"
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
	}
	ip := net.IP(raw)
	if ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return ip.String()
}

// socketsOf returns the inodes of the sockets of processes.
func socketsOf(processes map[int]stratatest.Process) (map[string]bool, error) {
	found := map[string]bool{}
	for pid := range processes {
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			return nil, err
		}
		for _, link := range links {
			target, _ := os.Readlink(link)
			if inode, ok := strings.CutPrefix(target, "socket:["); ok {
				found[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	return found, nil
}

package home

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/process"
)

// holder describes the process that listens on a loopback port, as " by PROGRAM (pid N)", if this user may see it. A
// process that is exiting has no name any more.
func holder(port int) string {
	sockets := listening(port)
	if len(sockets) == 0 {
		return ""
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !sockets[target] {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
		if command := process.Command(pid); command != "" {
			return fmt.Sprintf(" by %s (pid %d)", command, pid)
		}
	}
	return ""
}

// addresses are the listen addresses, in the form of the kernel's tables, that conflict with 127.0.0.1: that address
// and the unspecified address, in IPv4 and IPv6.
var addresses = []string{
	"0100007F", "00000000",
	"0000000000000000FFFF00000100007F", "00000000000000000000000000000000",
}

// listening returns the sockets that listen on a loopback port according to the kernel's tables (proc(5), net/tcp: the
// second field is the local address in hexadecimal, state 0A is LISTEN, the tenth field is the inode). The sockets
// have the names that links in /proc have as their targets.
func listening(port int) map[string]bool {
	found := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" {
				continue
			}
			for _, address := range addresses {
				if fields[1] == fmt.Sprintf("%s:%04X", address, port) {
					found["socket:["+fields[9]+"]"] = true
				}
			}
		}
	}
	return found
}

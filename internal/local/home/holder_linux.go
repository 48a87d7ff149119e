package home

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// holder names the process that listens on a loopback port, as far as this user may know it: " by NAME (pid N)".
func holder(port int) string {
	inode := listeningInode(port)
	if inode == "" {
		return ""
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || target != "socket:["+inode+"]" {
			continue
		}
		pid := strings.Split(link, "/")[2]
		comm, _ := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		return fmt.Sprintf(" by %s (pid %s)", bytes.TrimSpace(comm), pid)
	}
	return ""
}

// listeningInode finds the socket that listens on a port in the kernel's table (proc(5), net/tcp: local address in
// hexadecimal, state 0A is LISTEN, the tenth field is the inode).
func listeningInode(port int) string {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return ""
	}
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) > 9 && strings.HasSuffix(fields[1], suffix) && fields[3] == "0A" {
			return fields[9]
		}
	}
	return ""
}

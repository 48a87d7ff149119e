package controller

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// defaultRunMemory is what one run is taken to need: pulumi, a language host and
// a plugin or two.
const defaultRunMemory = 512 << 20

// hasRoom tells whether so many bytes of memory are free. Where that cannot be
// found out, they count as free.
func hasRoom(need int64) bool {
	free, ok := freeMemory(os.ReadFile)
	return !ok || free >= need
}

// freeMemory returns what this machine and this process's control group have
// left, whichever is less.
func freeMemory(read func(string) ([]byte, error)) (free int64, ok bool) {
	if data, err := read("/proc/meminfo"); err == nil {
		scanner := bufio.NewScanner(bytes.NewReader(data))
		for scanner.Scan() {
			if fields := strings.Fields(scanner.Text()); len(fields) > 1 && fields[0] == "MemAvailable:" {
				if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
					free, ok = kib<<10, true
				}
			}
		}
	}
	const root = "/sys/fs/cgroup"
	data, err := read("/proc/self/cgroup")
	if err != nil {
		return free, ok
	}
	path := ""
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			path = rest
		}
	}
	for dir := filepath.Join(root, path); strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		limit, limited := readNumber(read, filepath.Join(dir, "memory.max"))
		used, known := readNumber(read, filepath.Join(dir, "memory.current"))
		if limited && known && (!ok || limit-used < free) {
			free, ok = limit-used, true
		}
	}
	return free, ok
}

// readNumber reads a file that holds one number; "max" is none.
func readNumber(read func(string) ([]byte, error), path string) (int64, bool) {
	data, err := read(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

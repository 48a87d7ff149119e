package slots

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// DefaultMemory is the memory that one run is assumed to need, in bytes: for pulumi,
// a language host and a plugin or two.
const DefaultMemory = 512 << 20

// roomFor returns a function that reports whether there is memory for a run that needs
// the given bytes. A run beside another one of its namespace must leave as much again
// for the run of another namespace. The function returns true if it cannot determine
// the free memory.
func roomFor(need int64) func(first bool) bool {
	return func(first bool) bool {
		free, ok := freeMemory(os.ReadFile)
		return !ok || free >= need && (first || free >= 2*need)
	}
}

// freeMemory returns the free memory of this machine or of this process's control
// groups, whichever is less, in bytes.
func freeMemory(read func(string) ([]byte, error)) (free int64, ok bool) {
	if kib, known := readField(read, "/proc/meminfo", "MemAvailable:"); known {
		free, ok = kib<<10, true
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
		if !limited || !known {
			continue
		}
		if left := limit - used + reclaimable(read, dir); !ok || left < free {
			free, ok = left, true
		}
	}
	return free, ok
}

// reclaimable returns how many bytes of a control group's memory the kernel frees on
// demand: the page cache without shared memory, and the reclaimable slab caches. The
// kernel documents the fields in cgroup-v2.rst.
func reclaimable(read func(string) ([]byte, error), dir string) (bytes int64) {
	for _, field := range []string{"inactive_file", "active_file", "slab_reclaimable"} {
		n, _ := readField(read, filepath.Join(dir, "memory.stat"), field)
		bytes += n
	}
	return bytes
}

// readField returns the number after a name, from a file whose lines begin with a name
// and a number.
func readField(read func(string) ([]byte, error), path, name string) (int64, bool) {
	data, err := read(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// readNumber reads a file that holds one number. For "max" it returns false.
func readNumber(read func(string) ([]byte, error), path string) (int64, bool) {
	data, err := read(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

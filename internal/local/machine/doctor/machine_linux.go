package doctor

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// memory returns the machine's total memory and the memory available to programs in bytes (proc(5), meminfo).
func memory() (total, free int64) {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "MemTotal:":
			total = kilobytes << 10
		case "MemAvailable:":
			free = kilobytes << 10
		}
	}
	return total, free
}

// freeSpace returns how many bytes this user may still write on the file system of dir. dir need not exist.
func freeSpace(dir string) int64 {
	var fs unix.Statfs_t
	if unix.Statfs(existing(dir), &fs) != nil {
		return 0
	}
	return int64(fs.Bavail) * fs.Bsize
}

// openFiles returns the hard limit of open files of a process, or 0 if it is unknown.
func openFiles() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return limit.Max
}

// landlockVersion returns the version of Landlock in the kernel, or 0 without Landlock.
func landlockVersion() int {
	version, err := landlock.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

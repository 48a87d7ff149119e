//go:build !linux

package doctor

import "golang.org/x/sys/unix"

func memory() (total, free int64) { return 0, 0 }

// freeSpace returns how many bytes this user may still write on the file system of dir. dir need not exist.
func freeSpace(dir string) int64 {
	var fs unix.Statfs_t
	if unix.Statfs(existing(dir), &fs) != nil {
		return 0
	}
	return int64(fs.Bavail) * int64(fs.Bsize)
}

func openFiles() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return limit.Max
}

func landlockVersion() int { return 0 }

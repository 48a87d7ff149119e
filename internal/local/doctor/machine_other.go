//go:build !linux

package doctor

import "golang.org/x/sys/unix"

func memory() (total, free int64) { return 0, 0 }

// freeSpace returns how much this user may still write where a folder is, or will be made.
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

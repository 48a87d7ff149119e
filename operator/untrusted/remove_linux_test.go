package untrusted_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/operator/untrusted"
)

// deepen creates a tree that is too deep for a path.
func (f folder) deepen(name string, depth int) {
	f.Helper()
	fd, err := unix.Open(f.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	f.must(err)
	for range depth {
		f.must(unix.Mkdirat(fd, name, 0o700))
		inner, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		f.must(err)
		f.must(unix.Close(fd))
		fd, name = inner, "d"
	}
	f.must(unix.Close(fd))
}

func TestRemove(t *testing.T) {
	for name, attack := range map[string]func(f folder){
		"nothing":      func(f folder) { f.must(os.Remove(f.dir)) },
		"an empty one": func(folder) {},
		"a usual tree": func(f folder) {
			f.must(os.MkdirAll(f.path("a/b/c"), 0o700))
			f.must(os.WriteFile(f.path("a/b/x"), nil, 0))
		},
		"a link":      func(f folder) { f.must(os.Symlink(filepath.Dir(f.secret), f.path("a"))) },
		"a pipe":      func(f folder) { f.must(syscall.Mkfifo(f.path("a"), 0)) },
		"a deep tree": func(f folder) { f.deepen("d", 3000) },
		"a made name": func(f folder) {
			f.must(os.MkdirAll(f.path("a/b/c"), 0o700))
			f.must(os.MkdirAll(f.path(".removed-1/a/b"), 0o700))
		},
		"its own mode": func(f folder) { f.must(os.WriteFile(f.path("a"), nil, 0)); f.must(os.Chmod(f.dir, 0)) },
		"a dead branch": func(f folder) {
			f.must(os.MkdirAll(f.path("a/b/c"), 0o700))
			f.must(os.Chmod(f.path("a/b"), 0))
			f.must(os.Chmod(f.path("a"), 0))
		},
		"many files": func(f folder) {
			for i := range 3000 {
				f.must(os.WriteFile(f.path(fmt.Sprintf("f%d", i)), nil, 0o600))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			attack(f)
			inTime(t, func() {
				if err := untrusted.Remove(t.Context(), f.dir); err != nil {
					t.Error(err)
				}
			})
			if _, err := os.Lstat(f.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder is still there (%v)", err)
			}
			if got, err := os.ReadFile(f.secret); err != nil || string(got) != "canary-4711" {
				t.Errorf("the secret is %q (%v)", got, err)
			}
		})
	}
}

func TestRemovalEndsWithItsContext(t *testing.T) {
	f := newFolder(t)
	for i := range 100 {
		f.must(os.MkdirAll(f.path(strconv.Itoa(i)+"/a"), 0o700))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := untrusted.Remove(ctx, f.dir); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestRemovalTakesFewDescriptors(t *testing.T) {
	f := newFolder(t)
	f.deepen("d", 2000)
	// This simulates a process that has only a few file descriptors left.
	var before syscall.Rlimit
	f.must(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	open, err := os.ReadDir("/proc/self/fd")
	f.must(err)
	f.must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(len(open) + 8), Max: before.Max}))
	defer func() { f.must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) }()
	if err := untrusted.Remove(t.Context(), f.dir); err != nil {
		t.Error(err)
	}
}

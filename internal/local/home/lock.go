package home

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ErrLocked says that another process holds a lock of the home.
var ErrLocked = errors.New("another strata is at work in this home")

// Acquire takes the lock of the home's supervisor. The kernel gives it back when the process has ended, however it ends,
// unless release did so before.
func (h Home) Acquire() (release func(), err error) { return acquire(h.Lock()) }

// Lend takes the lock of the home's supervisor for a process that is to be started with the file. Nobody else gets the
// lock before the file is closed here and that process has ended. LentTo says which process it is.
func (h Home) Lend() (*os.File, error) {
	fd, err := lock(h.Lock())
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), h.Lock()), nil
}

// LentTo names the process that was started with a lock.
func LentTo(lock *os.File, pid int) { sign(int(lock.Fd()), pid) }

// Inherit takes over the lock that was lent to this process as a descriptor. It is kept until the process has ended.
func (h Home) Inherit(fd int) error {
	syscall.CloseOnExec(fd)
	return hold(fd, h.Lock())
}

// AcquireLayers takes the lock under which layers 1 and 2 are run.
func (h Home) AcquireLayers() (release func(), err error) { return acquire(h.path("layers.lock")) }

func acquire(path string) (release func(), err error) {
	fd, err := lock(path)
	if err != nil {
		return nil, err
	}
	return func() { _ = syscall.Close(fd) }, nil
}

// lock opens a file and locks it. The descriptor is a bare one, which nothing closes that is out of sight.
func lock(path string) (fd int, err error) {
	fd, err = syscall.Open(path, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, fmt.Errorf("lock the home: %s: %w", path, err)
	}
	if err := hold(fd, path); err != nil {
		_ = syscall.Close(fd)
		return 0, err
	}
	return fd, nil
}

// hold locks an open file and writes the id of this process into it.
func hold(fd int, path string) error {
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	} else if err != nil {
		return fmt.Errorf("lock the home: %s: %w", path, err)
	}
	sign(fd, os.Getpid())
	return nil
}

// sign writes a process's id into a locked file. On a full disk the file stays empty: the holder is not known then, but
// the lock holds, and a platform can be stopped.
func sign(fd, pid int) {
	if err := syscall.Ftruncate(fd, 0); err == nil {
		_, _ = syscall.Pwrite(fd, []byte(strconv.Itoa(pid)), 0)
	}
}

// Holder is the id of the process that holds the lock of the home's supervisor, 0 where that is not known. It is
// meaningful only while Acquire says ErrLocked.
func (h Home) Holder() int {
	raw, _ := os.ReadFile(h.Lock())
	pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
	return pid
}

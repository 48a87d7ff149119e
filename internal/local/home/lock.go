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

// AcquireLayers takes the lock under which layers 1 and 2 are run.
func (h Home) AcquireLayers() (release func(), err error) { return acquire(h.path("layers.lock")) }

// acquire locks a file and writes the id of this process into it. The descriptor is a bare one, which nothing closes
// that is out of sight.
func acquire(path string) (release func(), err error) {
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the home: %s: %w", path, err)
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(fd)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock the home: %s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		_ = syscall.Close(fd)
		return nil, fmt.Errorf("lock the home: %w", err)
	}
	return func() { _ = syscall.Close(fd) }, nil
}

// Holder is the id of the process that holds the lock of the home's supervisor, 0 where that is not known. It is
// meaningful only while Acquire says ErrLocked.
func (h Home) Holder() int {
	raw, _ := os.ReadFile(h.Lock())
	pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
	return pid
}

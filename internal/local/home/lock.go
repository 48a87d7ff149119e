package home

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrLocked says that another process holds a lock of the home.
var ErrLocked = errors.New("another strata is at work in this home")

// Acquire takes the lock of the home's supervisor. The kernel gives it back when the process ends, however it ends.
func (h Home) Acquire() (release func(), err error) { return acquire(h.Lock()) }

// AcquireLayers takes the lock under which layers 1 and 2 are run.
func (h Home) AcquireLayers() (release func(), err error) { return acquire(h.path("layers.lock")) }

func acquire(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the home: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock the home: %w", err)
	}
	return func() { f.Close() }, nil
}

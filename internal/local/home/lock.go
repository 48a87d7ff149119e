package home

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrLocked says that another process holds the home's lock.
var ErrLocked = errors.New("another supervisor runs in this home")

// Acquire takes the lock of the home's supervisor. The kernel gives it back when the process ends, however it ends.
func (h Home) Acquire() (release func(), err error) {
	f, err := os.OpenFile(h.Lock(), os.O_CREATE|os.O_RDWR, 0o600)
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

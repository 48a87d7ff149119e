package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// AcquireLayers takes the lock under which layers 1 and 2 are run. A refusal is ErrLocked and names who has it.
func (h Home) AcquireLayers() (release func(), err error) { return h.acquireNamed("layers.lock") }

// AcquireChange takes the lock under which one command at a time changes the platform as a whole. It holds together what
// takes many locks of layers, with other work between them. A refusal is ErrLocked and names who has it.
func (h Home) AcquireChange() (release func(), err error) { return h.acquireNamed(changeLock) }

const changeLock = "change.lock"

// Changing is the command that changes the platform right now, and its process; 0 where none does.
func (h Home) Changing() (pid int, command string) {
	path := h.path(changeLock)
	pid, command = signature(path)
	if pid == 0 || syscall.Kill(pid, 0) != nil {
		return 0, ""
	}
	// The process of the signature may be another one by now.
	if !held(path) {
		return 0, ""
	}
	return pid, command
}

// held tells whether somebody holds a lock. Where nobody does, it is taken for the moment: who wants it then is refused.
func held(path string) bool {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	return errors.Is(syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

func (h Home) acquireNamed(name string) (release func(), err error) {
	path := h.path(name)
	release, err = acquire(path)
	if errors.Is(err, ErrLocked) {
		if pid, command := signature(path); pid != 0 {
			return nil, fmt.Errorf("%w: `%s` (pid %d)", err, command, pid)
		}
	}
	return release, err
}

func acquire(path string) (release func(), err error) {
	fd, err := lock(path)
	if err != nil {
		return nil, err
	}
	return func() { _ = syscall.Close(fd) }, nil
}

// lock opens a file and locks it. The descriptor is a bare one, which nothing closes that is out of sight.
func lock(path string) (fd int, err error) {
	for {
		fd, err = syscall.Open(path, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
		if err != nil {
			return 0, fmt.Errorf("lock the home: %s: %w", path, err)
		}
		if err := hold(fd, path); err != nil {
			_ = syscall.Close(fd)
			return 0, err
		}
		if isAt(fd, path) {
			return fd, nil
		}
		// The last holder has removed the home meanwhile: nobody else would see this lock.
		_ = syscall.Close(fd)
	}
}

// isAt tells whether an open file is the one at a path.
func isAt(fd int, path string) bool {
	var opened, named syscall.Stat_t
	return syscall.Fstat(fd, &opened) == nil && syscall.Stat(path, &named) == nil && opened.Dev == named.Dev && opened.Ino == named.Ino
}

// hold locks an open file and signs it for this process.
func hold(fd int, path string) error {
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	} else if err != nil {
		return fmt.Errorf("lock the home: %s: %w", path, err)
	}
	sign(fd, os.Getpid())
	return nil
}

// sign writes into a locked file who holds it: a process's id and this process's command. On a full disk the file stays
// empty: the holder is not known then, but the lock holds, and a platform can be stopped.
func sign(fd, pid int) {
	if err := syscall.Ftruncate(fd, 0); err == nil {
		_, _ = syscall.Pwrite(fd, []byte(strconv.Itoa(pid)+" "+command()), 0)
	}
}

// command is how this process was called, without the folder of its program.
func command() string {
	return strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " ")
}

// signature reads what sign has written; the process is 0 where that is not known.
func signature(path string) (pid int, command string) {
	raw, _ := os.ReadFile(path)
	id, command, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	pid, _ = strconv.Atoi(id)
	return pid, command
}

// Holder is the id of the process that holds the lock of the home's supervisor, 0 where that is not known. It is
// meaningful only while Acquire says ErrLocked.
func (h Home) Holder() int {
	pid, _ := signature(h.Lock())
	return pid
}

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

// ErrLocked means that another process holds a lock of the home.
var ErrLocked = errors.New("another strata command changes this home")

// Acquire takes the lock of the home's supervisor. Calling release frees it, and so does the end of the process, even
// by a kill.
func (h Home) Acquire() (release func(), err error) { return acquire(h.Lock()) }

// Lend takes the lock of the home's supervisor for a new process that inherits the file. The lock is free again when
// this process has closed the file and the new process has ended. LentTo records the new process.
func (h Home) Lend() (*os.File, error) {
	fd, err := lock(h.Lock())
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), h.Lock()), nil
}

// LentTo records the process that inherited a lock.
func LentTo(lock *os.File, pid int) { sign(int(lock.Fd()), pid) }

// Inherit takes over the lock that this process inherited as a descriptor, and holds it until the process ends.
func (h Home) Inherit(fd int) error {
	syscall.CloseOnExec(fd)
	return hold(fd, h.Lock())
}

// AcquireLayers takes the lock for running layers 1 and 2. If another process has it, the error is ErrLocked and names
// the process.
func (h Home) AcquireLayers() (release func(), err error) { return h.acquireNamed("layers.lock") }

// AcquireChange takes the lock that allows one command at a time to change the whole platform. A command holds it
// while it takes the locks of several layers, with other work in between. If another process has it, the error is
// ErrLocked and names the process.
func (h Home) AcquireChange() (release func(), err error) { return h.acquireNamed(changeLock) }

// AcquireRotation takes the lock that allows one rotation of secrets at a time. The rotation takes the lock of AcquireChange for each of
// its ups. If another process has it, the error is ErrLocked and names the process.
func (h Home) AcquireRotation() (release func(), err error) { return h.acquireNamed(rotationLock) }

// The names of the files of AcquireChange and AcquireRotation.
const changeLock, rotationLock = "change.lock", "rotation.lock"

// Changing returns the command that is changing the platform and its PID, or 0 if there is none.
func (h Home) Changing() (pid int, command string) {
	path := h.path(changeLock)
	pid, command = signature(path)
	if pid == 0 || syscall.Kill(pid, 0) != nil {
		return 0, ""
	}
	// Another process may have the recorded PID now.
	if !held(path) {
		return 0, ""
	}
	return pid, command
}

// held reports whether a process holds a lock. It takes a free lock for a moment; other processes cannot take the lock
// meanwhile.
func held(path string) bool {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	return errors.Is(syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// acquireNamed takes a lock in the home's folder. If another process has it, the error wraps ErrLocked and names the
// process.
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

// acquire takes the lock at path. It does not wait: if another process has the lock, the error is ErrLocked.
func acquire(path string) (release func(), err error) {
	fd, err := lock(path)
	if err != nil {
		return nil, err
	}
	return func() { _ = syscall.Close(fd) }, nil
}

// lock opens a file and locks it. It returns a bare descriptor, because the garbage collector closes an unreferenced
// os.File.
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
		// The last holder has removed the home meanwhile, so other processes would not see this lock.
		_ = syscall.Close(fd)
	}
}

// isAt reports whether an open file is the file at a path.
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

// sign writes the holder into a locked file: a PID and this process's command. On a full disk the file stays empty.
// The lock still holds, so that a user can stop the platform, but the holder is unknown.
func sign(fd, pid int) {
	if err := syscall.Ftruncate(fd, 0); err == nil {
		_, _ = syscall.Pwrite(fd, []byte(strconv.Itoa(pid)+" "+command()), 0)
	}
}

// command returns the command line of this process, without the folder of its program.
func command() string {
	return strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " ")
}

// signature returns the holder that sign has written. pid is 0 if it is unknown.
func signature(path string) (pid int, command string) {
	raw, _ := os.ReadFile(path)
	id, command, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	pid, _ = strconv.Atoi(id)
	return pid, command
}

// Holder returns the PID of the process that holds the lock of the home's supervisor, or 0 if it is unknown. The
// result is meaningful only while Acquire returns ErrLocked.
func (h Home) Holder() int {
	pid, _ := signature(h.Lock())
	return pid
}

package attempt

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// nobody is the ID of a user and a group that every Linux system has.
const nobody = 65534

// otherUser calls do on a thread that has the files and sockets of the user nobody (setfsuid(2)). The kernel takes root's
// capabilities on files from the thread. The thread ends with the goroutine, because it keeps neither of them.
func otherUser(do func() error) error {
	if os.Geteuid() != 0 {
		return errNotRoot
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		// The raw call changes the groups of this thread only.
		if _, _, problem := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); problem != 0 {
			result <- errNotRoot
			return
		}
		if err := unix.Setfsgid(nobody); err != nil {
			result <- errNotRoot
			return
		}
		if err := unix.Setfsuid(nobody); err != nil {
			result <- errNotRoot
			return
		}
		result <- do()
	}()
	return <-result
}

package attack

import (
	"context"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// nobody is the ID of a user that every Linux system has.
const nobody = 65534

// dialAsNobody connects as another user: a socket belongs to the file system user of the thread that creates it, which
// root may change (setfsuid(2)).
func dialAsNobody(ctx context.Context, network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(nobody); err != nil {
		return nil, err
	}
	defer func() { _ = unix.Setfsuid(os.Getuid()) }()
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

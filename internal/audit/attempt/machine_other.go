//go:build !linux

package attempt

// otherUser returns an error: on this system, a process cannot act as another user and return.
func otherUser(func() error) error { return errNotRoot }

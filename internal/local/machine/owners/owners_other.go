//go:build !linux

package owners

import "fmt"

// Of returns an error that contains ErrUnsupported.
func Of(path string) (Record, error) {
	return Record{}, fmt.Errorf("read the owner of %s: %w on this operating system", path, ErrUnsupported)
}

// Set returns an error that contains ErrUnsupported.
func Set(path string, _ Record) error {
	return fmt.Errorf("set the owner of %s: %w on this operating system", path, ErrUnsupported)
}

// Supported returns an error that contains ErrUnsupported.
func Supported(dir string) error {
	return fmt.Errorf("test whether %s keeps owners: %w on this operating system", dir, ErrUnsupported)
}

// ApplyGroup returns an error that contains ErrUnsupported.
func ApplyGroup(dir string, gid uint32) error {
	return fmt.Errorf("give volume %s to group %d: %w on this operating system", dir, gid, ErrUnsupported)
}

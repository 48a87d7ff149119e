package logfile

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often a process looks at the log that it writes itself.
const lookEvery = 10 * time.Second

// BoundStderr bounds the log that is this process's own standard output and standard error, until ctx ends. It does
// nothing where they are something else.
func BoundStderr(ctx context.Context, path string) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// A log that cannot be put aside grows on; the next look tries again.
			_ = replaceStderr(path)
		}
	}
}

// replaceStderr puts the log aside where it is too large. The new file takes over the descriptors, so that what the Go
// runtime says of a panic goes there too.
func replaceStderr(path string) error {
	own, err := os.Stderr.Stat()
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || !os.SameFile(own, info) || info.Size() <= MaxSize {
		return err
	}
	file, err := putAside(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, standard := range []int{unix.Stdout, unix.Stderr} {
		if err := unix.Dup2(int(file.Fd()), standard); err != nil {
			return fmt.Errorf("write to the new log: %w", err)
		}
	}
	return nil
}

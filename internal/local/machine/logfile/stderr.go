package logfile

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// checkEvery is the interval at which a process checks the size of its own log.
const checkEvery = 10 * time.Second

// BoundStderr rotates the log that is this process's own standard output and standard error, until ctx is done. It
// does nothing if they are not the log at path.
func BoundStderr(ctx context.Context, path string) {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// A log that fails to rotate keeps growing until the next attempt.
			_ = replaceStderr(path)
		}
	}
}

// replaceStderr rotates the log if it is too large. The new file replaces the descriptors, so that the Go runtime's
// panic messages go there too.
func replaceStderr(path string) error {
	own, err := os.Stderr.Stat()
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || !os.SameFile(own, info) || info.Size() <= MaxSize {
		return err
	}
	file, err := startFile(path)
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

// Package filelock takes a lock that other processes respect, and says when it has to wait.
package filelock

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// waitNotice is how long Take waits before it calls waiting.
const waitNotice = 200 * time.Millisecond

// Take takes the lock at path and returns a function that releases it. The system releases the lock if its holder dies.
// Take calls waiting once if another process holds the lock.
func Take(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	type result struct {
		unlock func()
		err    error
	}
	taken := make(chan result, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(path).Lock()
		taken <- result{unlock, err}
	}()
	notice := time.NewTimer(waitNotice)
	defer notice.Stop()
	for {
		select {
		case r := <-taken:
			return r.unlock, r.err
		case <-notice.C:
			waiting()
		case <-ctx.Done():
			// The wait itself cannot be canceled, so release the lock when it arrives.
			go func() {
				if r := <-taken; r.err == nil {
					r.unlock()
				}
			}()
			return nil, context.Cause(ctx)
		}
	}
}

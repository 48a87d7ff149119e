package core

import (
	"context"
	"fmt"
	"time"
)

const (
	pollInterval = 200 * time.Millisecond
	// operationTimeout limits a long-running operation if the program sets no limit.
	operationTimeout = 20 * time.Minute
)

// Wait calls done every 200 milliseconds until done returns true or an error, or ctx or limit ends the wait. A zero
// limit means 20 minutes. what names the awaited event in the error: "wait for ...".
func Wait(ctx context.Context, limit time.Duration, what string, done func(context.Context) (bool, error)) error {
	if limit == 0 {
		limit = operationTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
}

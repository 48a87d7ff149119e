package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	// tokenFile is the name of the token's file in the run's folder. The kubeconfig refers
	// to it.
	tokenFile = "token"

	// tokenRetry is the time until the retry of a failed renewal, and the minimum between
	// two renewals. Without the minimum, a caller that returns an expired token would be
	// called in a loop.
	tokenRetry = 10 * time.Second
)

// keepToken writes the run's token and renews it until the caller calls stop.
func (r *run) keepToken(ctx context.Context) (stop func(), err error) {
	if r.Token == nil {
		return func() {}, nil
	}
	renew, err := r.writeToken(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for wait := renew; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(wait, tokenRetry)):
			}
			// On an error, writeToken returns zero, which means the shortest wait. The old token
			// stays valid for a while. When the old token expires, the run fails with its own
			// message.
			wait, _ = r.writeToken(ctx)
		}
	})
	return func() { cancel(); done.Wait() }, nil
}

// writeToken replaces the token atomically, so a client never reads a part of it.
func (r *run) writeToken(ctx context.Context) (time.Duration, error) {
	token, renew, err := r.Token(ctx)
	if err != nil {
		return 0, err
	}
	r.mask.Add(token)
	if err := untrusted.Write(r.root, tokenFile, []byte(token)); err != nil {
		return 0, fmt.Errorf("write the run's token: %w", err)
	}
	return renew, nil
}

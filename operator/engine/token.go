package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	// tokenFile is the name in the run's folder of the token that the kubeconfig
	// refers to.
	tokenFile = "token"

	// tokenRetry is how soon a renewal that failed is tried again, and the least wait
	// before any: whoever gives a token that has already expired is not asked without
	// end.
	tokenRetry = 10 * time.Second
)

// keepToken writes the run's token and renews it until stop is called.
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
			// The old token lives on for a while; when it ends at last, the run says so itself.
			// Zero after an error is the shortest wait.
			wait, _ = r.writeToken(ctx)
		}
	})
	return func() { cancel(); done.Wait() }, nil
}

// writeToken replaces the token at once: a client never reads a part of it.
func (r *run) writeToken(ctx context.Context) (time.Duration, error) {
	token, renew, err := r.Token(ctx)
	if err != nil {
		return 0, err
	}
	r.mask.add(token)
	if err := untrusted.Write(r.root, tokenFile, []byte(token)); err != nil {
		return 0, fmt.Errorf("write the run's token: %w", err)
	}
	return renew, nil
}

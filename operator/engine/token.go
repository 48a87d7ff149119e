package engine

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// tokenFile is the name in the run's folder of the token that the kubeconfig
	// refers to.
	tokenFile = "token"

	// tokenRetry is how soon a renewal that failed is tried again.
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
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(renew):
			}
			// The old token lives on for a while; when it ends at last, the run says so itself.
			if renew, err = r.writeToken(ctx); err != nil {
				renew = tokenRetry
			}
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
	// The run may have put a link there that leads out of its folder.
	root, err := os.OpenRoot(r.dir)
	if err == nil {
		defer root.Close()
		if err = root.WriteFile(tokenFile+".new", []byte(token), 0o600); err == nil {
			err = root.Rename(tokenFile+".new", tokenFile)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("write the run's token: %w", err)
	}
	return renew, nil
}

// Package token writes the token of a run into the run's folder, and renews it.
package token

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	// File is the name of the file with the run's Kubernetes token in the run's folder. The kubeconfig refers to it.
	File = "token"

	// GoogleFile is the name of the file with the token that becomes the run's Google identity, in the run's folder.
	GoogleFile = "google-token"

	// retryAfter is the time until the retry of a failed renewal, and the minimum between
	// two renewals. Without the minimum, a caller that returns an expired token would be
	// called in a loop.
	retryAfter = 10 * time.Second
)

// Keeper writes and renews one token of one run.
type Keeper struct {
	// Root is the opened folder of the run.
	Root *os.Root

	// File is the name of the token's file in Root.
	File string

	// Get returns a token and the duration after which to renew it.
	Get func(context.Context) (token string, renew time.Duration, err error)

	// Mask hides the tokens in what the run prints.
	Mask *message.Mask
}

// KeepAll writes both tokens of a run, and renews them until the caller calls stop. cluster returns the Kubernetes token. login has the one
// for Google Cloud; nil means none. k has the folder and the mask.
func KeepAll(
	ctx context.Context, k Keeper, cluster func(context.Context) (string, time.Duration, error), login *keyless.Login,
) (stop func(), err error) {
	k.File, k.Get = File, cluster
	stopCluster, err := k.Keep(ctx)
	if err != nil || login == nil {
		return stopCluster, err
	}
	cloud := Keeper{Root: k.Root, File: GoogleFile, Get: login.Token, Mask: k.Mask}
	stopCloud, err := cloud.Keep(ctx)
	if err != nil {
		stopCluster()
		return nil, err
	}
	return func() { stopCloud(); stopCluster() }, nil
}

// Keep writes the token and renews it until the caller calls stop. Without Get, Keep does nothing.
func (k *Keeper) Keep(ctx context.Context) (stop func(), err error) {
	if k.Get == nil {
		return func() {}, nil
	}
	renew, err := k.write(ctx)
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
			case <-time.After(max(wait, retryAfter)):
			}
			// On an error, write returns zero, which means the shortest wait. The old token
			// stays valid for a while. When the old token expires, the run fails with its own
			// message.
			wait, _ = k.write(ctx)
		}
	})
	return func() { cancel(); done.Wait() }, nil
}

// write replaces the token atomically, so a client never reads a part of it.
func (k *Keeper) write(ctx context.Context) (time.Duration, error) {
	token, renew, err := k.Get(ctx)
	if err != nil {
		return 0, err
	}
	k.Mask.Add(token)
	if err := untrusted.Write(k.Root, k.File, []byte(token)); err != nil {
		return 0, fmt.Errorf("write the run's token: %w", err)
	}
	return renew, nil
}

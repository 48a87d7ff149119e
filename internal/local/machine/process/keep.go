package process

import (
	"context"
	"fmt"
	"net"
	"time"
)

// The backoff between restarts of a failing program starts at minBackoff. It doubles up to maxBackoff while the
// program keeps ending soon after its start.
const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// Keeper keeps one program running until Stop.
type Keeper struct {
	spec   Spec
	grace  time.Duration
	cancel context.CancelFunc
	done   chan struct{}
	record *record
}

// Keep starts the program and restarts it, with backoff, whenever it ends. grace is the grace period of Stop.
func Keep(spec Spec, grace time.Duration) (*Keeper, error) {
	ctx, cancel := context.WithCancel(context.Background())
	k := &Keeper{spec: spec, grace: grace, cancel: cancel, done: make(chan struct{}), record: newRecord(spec.Name, spec)}
	first, err := k.record.start(spec)
	if err != nil {
		cancel()
		return nil, err
	}
	go k.run(ctx, first)
	return k, nil
}

// State returns the current state of the program.
func (k *Keeper) State() State { return k.record.get() }

// Dial connects to an address in the network of the running program.
func (k *Keeper) Dial(ctx context.Context, local, address string) (net.Conn, error) {
	p := k.record.process()
	if p == nil {
		return nil, fmt.Errorf("connect to %s: it does not run", k.spec.Name)
	}
	return p.Dial(ctx, local, address)
}

// Stop ends the program and returns when it is gone.
func (k *Keeper) Stop() {
	k.cancel()
	<-k.done
}

// run restarts the program until ctx is done. p is the running process, or nil after a failed start.
func (k *Keeper) run(ctx context.Context, p *Process) {
	defer close(k.done)
	defer k.record.stop()
	for {
		if p != nil {
			select {
			case <-ctx.Done():
				p.Stop(k.grace)
				k.record.end(p)
				return
			case <-p.Done():
				k.record.end(p)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff(k.record.quickEnds())):
		}
		// The record holds the error of a failed start.
		p, _ = k.record.start(k.spec)
	}
}

// backoff returns the delay after a number of quick ends in a row. quick is at least 1.
func backoff(quick int) time.Duration {
	// Ten doublings exceed maxBackoff.
	return min(minBackoff<<min(quick-1, 10), maxBackoff)
}

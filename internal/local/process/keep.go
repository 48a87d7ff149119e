package process

import (
	"context"
	"sync"
	"time"
)

// Backoff between restarts of a program that dies: it starts at minBackoff, doubles up to maxBackoff, and is forgotten
// once the program has run for resetAfter.
const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
	resetAfter = time.Minute
)

// State is what is known of a kept program.
type State struct {
	Name     string `json:"name"`
	Pid      int    `json:"pid,omitempty"`
	Running  bool   `json:"running"`
	Restarts int    `json:"restarts"`
	// LastError says why the program last ended or could not be started.
	LastError string `json:"lastError,omitempty"`
}

// Keeper keeps one program running until Stop.
type Keeper struct {
	spec   Spec
	grace  time.Duration
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	state State
}

// Keep starts the program and starts it again, with backoff, whenever it ends. Stop gives it grace to end.
func Keep(spec Spec, grace time.Duration) (*Keeper, error) {
	first, err := Start(spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &Keeper{spec: spec, grace: grace, cancel: cancel, done: make(chan struct{})}
	k.state = State{Name: spec.Name, Pid: first.Pid(), Running: true}
	go k.run(ctx, first)
	return k, nil
}

// State returns what is known of the program now.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// Stop ends the program and returns when it is gone.
func (k *Keeper) Stop() {
	k.cancel()
	<-k.done
}

func (k *Keeper) run(ctx context.Context, p *Process) {
	defer close(k.done)
	backoff := minBackoff
	for {
		started := time.Now()
		if p != nil {
			select {
			case <-ctx.Done():
				p.Stop(k.grace)
				k.ended(nil)
				return
			case <-p.Done():
				k.ended(p.ExitError())
			}
		}
		if time.Since(started) > resetAfter {
			backoff = minBackoff
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
		var err error
		if p, err = Start(k.spec); err != nil {
			p = nil
			k.ended(err)
			continue
		}
		k.mu.Lock()
		k.state.Pid, k.state.Running = p.Pid(), true
		k.state.Restarts++
		k.mu.Unlock()
	}
}

func (k *Keeper) ended(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state.Pid, k.state.Running = 0, false
	if err != nil {
		k.state.LastError = err.Error()
	}
}

package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/strata-platform/strata/internal/local/home"
)

// Lock keeps every other command that changes this platform out until release is called, or this process has ended,
// however it ends. It makes the home where there is none. Where another command is at work the error, which comes at
// once, says which, and what to do.
func (p *Platform) Lock() (release func(), err error) {
	if _, err := home.Open(p.Home.Dir()); err != nil {
		return nil, err
	}
	release, err = p.Home.AcquireChange()
	if errors.Is(err, home.ErrLocked) {
		return nil, fmt.Errorf("%w: nothing was changed: wait until that has ended, or end it by Ctrl-C or kill, then run this again", err)
	}
	return release, err
}

// Stop stops what runs in the home; data stays. Where nothing was made there is nothing to stop.
func (p *Platform) Stop(ctx context.Context) error {
	if !p.Home.Exists() {
		return nil
	}
	release, err := p.Lock()
	if err != nil {
		return err
	}
	defer release()
	return p.client.Stop(ctx)
}

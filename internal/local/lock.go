package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
)

// Lock prevents other commands from changing this platform until the caller calls release or this process ends, even
// by a kill. It creates the home if it does not exist. If another command holds the lock, Lock returns at once with an
// error that names the command and the remedy.
func (p *Platform) Lock() (release func(), err error) {
	if _, err := home.Open(p.Home.Dir()); err != nil {
		return nil, err
	}
	release, err = p.Home.AcquireChange()
	if errors.Is(err, home.ErrLocked) {
		return nil, fmt.Errorf("%w: nothing was changed: wait until that command has ended, or end it with Ctrl-C or kill, then run this command again", err)
	}
	return release, err
}

// Stop stops the programs of the home and keeps its data. It does nothing if the home does not exist.
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

// stopOther stops the programs of the home if a strata of another version or commit has started them: its node runs only the operator of
// its own build. It reports whether it has stopped them. The caller has the lock.
func (p *Platform) stopOther(ctx context.Context) (bool, error) {
	running, err := p.client.Status(ctx)
	if errors.Is(err, supervisor.ErrNotRunning) || err == nil && sameBuild(running) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, p.client.Stop(ctx)
}

// sameBuild reports whether this strata's version and commit run the home.
func sameBuild(running supervisor.Status) bool {
	own := buildinfo.Read()
	return running.Version == own.Version && running.Commit == own.Commit
}

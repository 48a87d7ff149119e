package lifecycle

import (
	"context"
	"fmt"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/skew"
)

// refuseOlder returns an error if a newer Strata has run a layer: this one would take back what the newer one has changed.
func (p *Platform) refuseOlder(ctx context.Context, layer string) error {
	state, err := p.read(ctx, layer)
	if err != nil {
		return err
	}
	return RefuseOlder(layer, state.strata, buildinfo.Version)
}

// RefuseOlder returns an error if the Strata that ran a layer last is newer than this one.
func RefuseOlder(layer, last, mine string) error {
	if !skew.Newer(last, mine) {
		return nil
	}
	return fmt.Errorf("layer %s: nothing was changed: Strata %s ran this layer last, and this is the older strata %s: use strata %s or a newer one",
		layer, last, mine, last)
}

// continueUpgrade says that up continues an upgrade that has stopped.
func (p *Platform) continueUpgrade(show *progress.Reporter) error {
	to, step, begun := p.Journal().UpgradeBegun()
	if !begun {
		return nil
	}
	if err := p.RefuseUpgrade(); err != nil {
		return err
	}
	show.Note("an upgrade to Strata %s has stopped at its step %q: up runs all of its steps, without the checks between them", to, step)
	return nil
}

// RefuseUpgrade returns an error if an upgrade to a newer Strata has stopped, because this one does not know its remaining steps. An upgrade
// to an older one may have stopped at a fault that this one mends.
func (p *Platform) RefuseUpgrade() error {
	to, step, begun := p.Journal().UpgradeBegun()
	if !begun || !skew.Newer(to, buildinfo.Version) {
		return nil
	}
	return fmt.Errorf("nothing was changed: an upgrade to Strata %s has stopped at its step %q, and this is strata %s: continue with `%s` of strata %s",
		to, step, buildinfo.Version, p.About().Call("upgrade"), to)
}

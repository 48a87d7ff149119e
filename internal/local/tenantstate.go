package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/layers"
)

// up runs a layer. What layer 1 is about to make a passphrase for must not be there already, under another one: a destroy
// that ended halfway, plain pulumi, or a team that was taken out of teams.yaml leaves it.
func (p *Platform) up(r layers.Runner, ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error) { //nolint:revive // as a method expression
	if err := p.dropUnreadable(ctx, r, l); err != nil {
		return layers.Summary{}, err
	}
	return r.Up(ctx, l, progress)
}

// destroy deletes the resources of a layer. The state of the teams' Stacks goes with layer 1, as it does where it lies in
// buckets.
func (p *Platform) destroy(r layers.Runner, ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error) { //nolint:revive // as a method expression
	summary, err := r.Destroy(ctx, l, progress)
	if err == nil {
		err = p.dropUnreadable(ctx, r, l)
	}
	return summary, err
}

// dropUnreadable removes the state of each team of which layer 1 has no passphrase: nobody can read it again, and the
// team's Stacks would stall on it.
func (p *Platform) dropUnreadable(ctx context.Context, r layers.Runner, l layers.Layer) error {
	if l.Name != BootstrapLayer {
		return nil
	}
	states, err := os.ReadDir(p.Home.TenantStates())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("layer %s: find the state of the teams' Stacks: %w", l.Name, err)
	}
	for _, state := range states {
		kept, err := r.Has(ctx, l, bootstrap.PassphraseURN(r.Stack, state.Name()))
		if err != nil {
			return err
		}
		if kept {
			continue
		}
		if err := os.RemoveAll(p.Home.TenantState(state.Name())); err != nil {
			return fmt.Errorf("layer %s: remove state without a passphrase: %w", l.Name, err)
		}
	}
	return nil
}

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/teams"
)

// up runs a layer. Before layer 1 creates a passphrase for the state of a team's Stacks, up moves aside any existing
// state, because it has another passphrase. An interrupted destroy, plain pulumi, or the removal of a team from
// teams.yaml leaves such a state. up does not delete the state, because somebody may still know its passphrase.
func (p *Platform) up(r layers.Runner, ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error) { //nolint:revive // as a method expression
	if l.Name == BootstrapLayer {
		if err := p.eachUnreadable(ctx, r, l, p.setAside); err != nil {
			return layers.Summary{}, err
		}
	}
	if err := p.undoDown(r, ctx, l, progress); err != nil {
		return layers.Summary{}, err
	}
	if p.lacks(ctx, l.Name) {
		if err := r.Refresh(ctx, l, progress); err != nil {
			return layers.Summary{}, err
		}
	}
	summary, err := r.Up(ctx, l, progress)
	if err == nil && l.Name == PlatformLayer {
		err = p.Home.EndDown()
	}
	return summary, err
}

// destroy deletes the resources of a layer. With layer 1 it also deletes the state of the teams' Stacks. In the cloud,
// that state is in layer 1's buckets.
func (p *Platform) destroy(r layers.Runner, ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error) { //nolint:revive // as a method expression
	summary, err := r.Destroy(ctx, l, progress)
	if err == nil && l.Name == BootstrapLayer {
		err = p.eachUnreadable(ctx, r, l, func(namespace string) error { return os.RemoveAll(p.Home.TenantState(namespace)) })
	}
	return summary, err
}

// eachUnreadable calls do for the state of each team for which layer 1 has no passphrase. It skips other namespaces,
// such as default, because they have their own passphrases.
func (p *Platform) eachUnreadable(ctx context.Context, r layers.Runner, l layers.Layer, do func(namespace string) error) error {
	states, err := os.ReadDir(p.Home.TenantStates())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("layer %s: find the state of the teams' Stacks: %w", l.Name, err)
	}
	for _, state := range states {
		namespace := state.Name()
		if !strings.HasPrefix(namespace, teams.Team{}.Namespace()) {
			continue
		}
		readable, err := r.Has(ctx, l, bootstrap.PassphraseURN(r.Stack, namespace))
		if err != nil {
			return err
		}
		if readable {
			continue
		}
		if err := do(namespace); err != nil {
			return fmt.Errorf("layer %s: clear away the state of %s, of which there is no passphrase: %w", l.Name, namespace, err)
		}
	}
	return nil
}

// setAside moves a state to a folder outside the Stacks' backends.
func (p *Platform) setAside(namespace string) error {
	if err := os.MkdirAll(p.Home.LostStates(), 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(p.Home.LostStates(), namespace+"-")
	if err != nil {
		return err
	}
	return os.Rename(p.Home.TenantState(namespace), filepath.Join(dir, namespace))
}

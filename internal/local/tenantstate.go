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

// up runs a layer. What layer 1 is about to make a passphrase for must not be there already, under another one: a destroy
// that ended halfway, plain pulumi, or a team that was taken out of teams.yaml leaves it. It is kept aside, since somebody
// may still know that passphrase.
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

// destroy deletes the resources of a layer. The state of the teams' Stacks goes with layer 1, as it does where it lies in
// buckets.
func (p *Platform) destroy(r layers.Runner, ctx context.Context, l layers.Layer, progress layers.Progress) (layers.Summary, error) { //nolint:revive // as a method expression
	summary, err := r.Destroy(ctx, l, progress)
	if err == nil && l.Name == BootstrapLayer {
		err = p.eachUnreadable(ctx, r, l, func(namespace string) error { return os.RemoveAll(p.Home.TenantState(namespace)) })
	}
	return summary, err
}

// eachUnreadable does something to the state of each team of which layer 1 has no passphrase. Namespaces of others, such
// as default, have passphrases of their own.
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

// setAside moves a state to where no Stack finds it.
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

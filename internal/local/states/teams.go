package states

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
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/teams"
)

// EachUnreadable calls do for the state of each team for which layer 1 has no passphrase. It skips other namespaces,
// such as default, because they have their own passphrases.
func EachUnreadable(ctx context.Context, h home.Home, r layers.Runner, l layers.Layer, do func(namespace string) error) error {
	states, err := os.ReadDir(h.TenantStates())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("layer %s: find the state of the teams' Stacks: %w", l.Name, err)
	}
	made, err := h.Generations()
	if err != nil {
		return err
	}
	for _, state := range states {
		namespace := state.Name()
		if !strings.HasPrefix(namespace, teams.Team{}.Namespace()) {
			continue
		}
		readable := false
		for _, urn := range bootstrap.PassphraseURNs(r.Stack, namespace, made.Passphrases[strings.TrimPrefix(namespace, teams.Team{}.Namespace())]) {
			has, err := r.Has(ctx, l, urn)
			if err != nil {
				return err
			}
			readable = readable || has
		}
		if readable {
			continue
		}
		if err := do(namespace); err != nil {
			return fmt.Errorf("layer %s: clear the state of %s, whose passphrase is lost: %w", l.Name, namespace, err)
		}
	}
	return nil
}

// SetAside moves a state to a folder outside the Stacks' backends.
func SetAside(h home.Home, namespace string) error {
	if err := os.MkdirAll(h.LostStates(), 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(h.LostStates(), namespace+"-")
	if err != nil {
		return err
	}
	return os.Rename(h.TenantState(namespace), filepath.Join(dir, namespace))
}

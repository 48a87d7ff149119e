// Package rotation replaces the secrets of a home one by one: while the clients of a secret change to the new one, both are valid, and
// at the end an attempt with the former one proves that it is refused.
package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status/wait"
)

// Rotation rotates the secrets of a local platform. Each method can run again after a failure or a kill, and continues.
type Rotation struct {
	Local *local.Platform
	Show  *progress.Reporter
}

// Result describes a rotation.
type Result struct {
	// Secret is the kind of the secret: passphrase, keys, git or database.
	Secret string `json:"secret"`
	// Rotated lists the secrets that were replaced.
	Rotated []Rotated `json:"rotated"`
	// Nothing says why there was nothing to replace; empty if there was something.
	Nothing string `json:"nothing,omitempty"`
}

// Rotated is a secret that was replaced.
type Rotated struct {
	// Name is the team's name, or the account's.
	Name string `json:"name"`
	// Refused counts the refused attempts with the former secret. An accepted attempt is an error.
	Refused int `json:"refused"`
	// Proof describes these attempts.
	Proof string `json:"proof"`
}

// up runs both layers, and waits until the teams' Stacks have run with what the layers hand over. A team that is not ready by its own
// fault does not keep the others waiting.
func (r Rotation) up(ctx context.Context) error {
	_, err := lifecycle.New(r.Local).Up(ctx, r.Show, wait.All)
	if team := (*wait.TeamsError)(nil); errors.As(err, &team) {
		r.Show.Note("%v", team)
		return nil
	}
	return err
}

// begin takes the lock of rotations, because each of two would remove a secret that the other one has just handed over. It returns an
// error if there is no platform, or if it is being deleted.
func (r Rotation) begin() (release func(), err error) {
	h := r.Local.Home
	if !h.Exists() {
		return nil, fmt.Errorf("there is no platform in %s: run `%s`", h.Dir(), h.Call("up"))
	}
	if _, begun := h.DownBegun(); begun {
		return nil, fmt.Errorf("a down or a restore of the platform in %s has not finished: run `%s` first", h.Dir(), h.Call("up"))
	}
	if release, err = h.AcquireRotation(); errors.Is(err, home.ErrLocked) {
		err = fmt.Errorf("%w: nothing was changed: wait until that command has ended, then run this one again", err)
	}
	return release, err
}

// generations changes the record of the home's generations.
func (r Rotation) generations(change func(*home.Generations)) error {
	kept, err := r.Local.Home.Generations()
	if err != nil {
		return err
	}
	if kept.Passphrases == nil {
		kept.Passphrases = map[string][]int{}
	}
	change(&kept)
	return r.Local.Home.KeepGenerations(kept)
}

// tenants returns layer 1's outputs for each tenant, by the name.
func (r Rotation) tenants(ctx context.Context) (map[string]map[string]any, error) {
	outputs, err := lifecycle.New(r.Local).LayerOutputs(ctx, lifecycle.BootstrapLayer, true)
	if err != nil {
		return nil, err
	}
	return tenants(outputs), nil
}

// tenants returns the outputs of layer 1 for each tenant.
func tenants(outputs map[string]any) map[string]map[string]any {
	all, _ := outputs[handoff.OutputTenants].(map[string]any)
	found := map[string]map[string]any{}
	for name, each := range all {
		found[name], _ = each.(map[string]any)
	}
	return found
}

// names returns the given names of tenants, or those of all tenants if none are given.
func (r Rotation) names(given []string) ([]string, error) {
	list, err := r.Local.Tenants()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, tenant := range list {
		all = append(all, tenant.Name)
	}
	for _, name := range given {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("there is no team %q in teams.yaml: nothing was changed", name)
		}
	}
	if len(given) == 0 {
		given = all
	}
	return slices.Compact(slices.Sorted(slices.Values(given))), nil
}

func text(fields map[string]any, name string) string {
	value, _ := fields[name].(string)
	return value
}

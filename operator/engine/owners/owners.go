// Package owners finds databases and database users that another stack of the same team owns.
package owners

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/strata-platform/strata/operator/engine/owners/taken"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/settle"
)

// TakenError says that another stack owns a declared database or user.
type TakenError struct {
	resource, owner, does string
	at                    place
}

// Error implements the error interface.
func (e *TakenError) Error() string {
	return fmt.Sprintf("resource %q is the %s, and %s %s: choose another name, or remove it from %s first", e.resource, e.at, e.owner, e.does, e.owner)
}

// Registry holds the databases and users that active runs may create, and that no state lists yet. Its zero value is ready
// for use.
type Registry struct {
	mu   sync.Mutex
	runs map[*Run]active
}

// active is what an active run may create.
type active struct {
	places map[place]string // the values are the logical names of the resources
	ended  chan struct{}
}

// Begin returns a [*TakenError] if the run would create a database or a user that another stack of the same team has in its
// state, or that another active run may create. Cloud SQL gives an existing user a new password without an error, and the
// deletion of either stack would delete the database or the user that both use. The caller calls end after the run.
//
// If only the run knows a name, Begin returns what the run must not create: the plugins of the run check the name with
// package taken. Begin then waits for active runs of the team that may create this name, and later runs wait for this one,
// because no state lists yet what a run creates. Runs of programs that are not in YAML wait for nobody.
//
// Begin sees the states in file backends only.
func (g *Registry) Begin(ctx context.Context, r *Run) (others []taken.Resource, end func(), err error) {
	end = func() {}
	wanted := r.wanted()
	if len(wanted) == 0 && !r.Opaque {
		return nil, end, nil
	}
	own, err := r.State.Read()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, end, fmt.Errorf("read the state of stack %q: %w", r.State.Stack, err)
	}
	// A fault hides the resources behind it, which is the effect of the bound of a state, too.
	_ = settle.EachNamed(ctx, own, func(kind, name, instance string) bool {
		has := place{kind, taken.Fold(name), instance}
		for each := range wanted {
			if each.known() && each.meets(has) {
				delete(wanted, each)
			}
		}
		return len(wanted) > 0
	})
	if len(wanted) > 0 {
		// The order matters: another run that ends in between has its resources in its state.
		if err := g.take(ctx, r, wanted); err != nil {
			return nil, end, err
		}
		end = func() { g.release(r) }
	}
	if r.Opaque {
		wanted = maps.Clone(wanted)
		wanted[place{project.DatabaseType, unknown, ""}] = ""
		wanted[place{project.UserType, unknown, ""}] = ""
	}
	if len(wanted) == 0 {
		return nil, end, nil
	}
	others, err = r.inStates(ctx, wanted)
	return others, end, err
}

// Declare is Begin for a check without a run. It compares only the names that are known, with those that other calls of
// Declare have added, and waits for nobody.
func (g *Registry) Declare(r *Run) error {
	wanted := r.wanted()
	maps.DeleteFunc(wanted, func(each place, _ string) bool { return !each.known() })
	_, err := g.tryTake(r, wanted)
	return err
}

// take adds the places of a run, or returns an error if another run of the same team has one of them. It waits for runs
// that may have one.
func (g *Registry) take(ctx context.Context, r *Run, wanted map[place]string) error {
	for {
		before, err := g.tryTake(r, wanted)
		if before == nil || err != nil {
			return err
		}
		select {
		case <-before:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryTake adds the places of a run. If another run of the same team may have one, it adds nothing, and returns a channel
// that is closed when that run ends.
func (g *Registry) tryTake(r *Run, wanted map[place]string) (before <-chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for other, active := range g.runs {
		if other.State.Parent != r.State.Parent {
			continue
		}
		for each, resource := range wanted {
			for has := range active.places {
				if !each.meets(has) {
					continue
				}
				if each.known() && has.known() {
					stack := other.State.Stack[strings.LastIndexByte(other.State.Stack, '/')+1:]
					return nil, &TakenError{resource, r.named(other.State.Project, stack), "creates it at this moment", each}
				}
				before = active.ended
			}
		}
	}
	if before != nil {
		return before, nil
	}
	if g.runs == nil {
		g.runs = map[*Run]active{}
	}
	g.runs[r] = active{wanted, make(chan struct{})}
	return nil, nil
}

// release removes the places of a run that has ended.
func (g *Registry) release(r *Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.runs[r].ended)
	delete(g.runs, r)
}

// Package owners finds databases and database users that another stack of the same team owns.
package owners

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/settle"
)

// Run is a run that may create databases and users. All fields except Config, Defaults and Named are required.
type Run struct {
	// Declared are the databases and users that the program declares.
	Declared []project.Database
	// Config holds the run's config values as JSON, and Defaults those of the program as text.
	Config   map[string]json.RawMessage
	Defaults map[string]string
	// State locates the state of the run's stack. Its Parent is the folder of the team.
	State backend.State
	// Named returns how users know another stack, or "".
	Named func(project, stack string) string
}

// TakenError says that another stack owns a declared database or user.
type TakenError struct {
	resource, owner, does string
	at                    place
}

// Error implements the error interface.
func (e *TakenError) Error() string {
	return fmt.Sprintf("resource %q is the %s, and %s %s: choose another name, or remove it from %s first", e.resource, e.at, e.owner, e.does, e.owner)
}

// place is a database or a user on an instance. Its name is in lower case: MySQL compares the names of databases in that way
// on some systems. The host of a user does not count, because MySQL chooses among the users of one name.
type place struct{ kind, name, instance string }

// meets reports whether two places may be the same. An empty instance may be any.
func (p place) meets(other place) bool {
	return p.kind == other.kind && p.name == other.name && (p.instance == other.instance || p.instance == "" || other.instance == "")
}

// String describes the place for a message.
func (p place) String() string {
	kind := "database "
	if p.kind == project.UserType {
		kind = "user "
	}
	if p.instance == "" {
		return kind + p.name
	}
	return kind + p.name + " of instance " + p.instance
}

// Registry holds the databases and users that active runs may create, and that no state lists yet. Its zero value is ready
// for use.
type Registry struct {
	mu   sync.Mutex
	runs map[*Run]map[place]string // the values are the logical names of the resources
}

// Begin returns a [*TakenError] if the run would create a database or a user that another stack of the same team has in its
// state, or that another active run may create. Cloud SQL gives an existing user a new password without an error, and the
// deletion of either stack would delete the database or the user that both use. The caller calls end after the run.
//
// Begin sees the states in file backends only. A name with a reference other than to the config is known only when the
// program runs.
func (g *Registry) Begin(ctx context.Context, r *Run) (end func(), err error) {
	end = func() {}
	wanted := r.wanted()
	if len(wanted) == 0 {
		return end, nil
	}
	own, err := r.State.Read()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return end, fmt.Errorf("read the state of stack %q: %w", r.State.Stack, err)
	}
	// A fault hides the resources behind it, which is the effect of the bound of a state, too.
	_ = settle.EachNamed(ctx, own, func(kind, name, instance string) bool {
		has := place{kind, strings.ToLower(name), instance}
		for each := range wanted {
			if each.meets(has) {
				delete(wanted, each)
			}
		}
		return len(wanted) > 0
	})
	if len(wanted) == 0 {
		return end, nil
	}
	// The order matters: another run that ends in between has its resources in its state.
	if taken := g.take(r, wanted); taken != nil {
		return end, taken
	}
	end = func() { g.release(r) }
	if taken := r.inStates(ctx, wanted); taken != nil {
		return end, taken
	}
	return end, nil
}

// wanted returns the declared places whose names are known.
func (r *Run) wanted() map[place]string {
	wanted := map[place]string{}
	for _, each := range r.Declared {
		name, instance := r.resolve(each.Name), r.resolve(each.Instance)
		if name != "" {
			wanted[place{each.Type, strings.ToLower(name), instance[strings.LastIndexByte(instance, '/')+1:]}] = each.Resource
		}
	}
	return wanted
}

// inStates looks for places in the states of the team's other stacks.
func (r *Run) inStates(ctx context.Context, wanted map[place]string) error {
	var taken *TakenError
	r.State.EachOther(ctx, func(projectName, stack string, state []byte) bool {
		_ = settle.EachNamed(ctx, state, func(kind, name, instance string) bool {
			for each, resource := range wanted {
				if each.meets(place{kind, strings.ToLower(name), instance}) {
					taken = &TakenError{resource, r.named(projectName, stack), "owns it", each}
				}
			}
			return taken == nil
		})
		return taken == nil
	})
	if taken == nil {
		return nil
	}
	return taken
}

// named returns how users know another stack.
func (r *Run) named(projectName, stack string) string {
	known := ""
	if r.Named != nil {
		known = r.Named(projectName, stack)
	}
	return cmp.Or(known, fmt.Sprintf("stack %s of project %s", stack, projectName))
}

// resolve replaces the references to config values in a text. It returns "" if a value is known only when the program runs.
func (r *Run) resolve(text string) string {
	var done strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		done.WriteString(before)
		if !found {
			return done.String()
		}
		key, rest, closed := strings.Cut(after, "}")
		var value string
		set := r.Config[key]
		if set == nil {
			set = r.Config[r.State.Project+":"+key]
		}
		switch {
		case !closed:
			return ""
		case key == "pulumi.stack":
			value = r.State.Stack[strings.LastIndexByte(r.State.Stack, '/')+1:]
		case key == "pulumi.project":
			value = r.State.Project
		case set != nil:
			if json.Unmarshal(set, &value) != nil {
				return ""
			}
		default:
			value = r.Defaults[key]
		}
		if value == "" {
			return ""
		}
		done.WriteString(value)
		text = rest
	}
}

// take adds the places of a run, or returns an error if another run of the same team has one of them.
func (g *Registry) take(r *Run, wanted map[place]string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for other, places := range g.runs {
		if other.State.Parent != r.State.Parent {
			continue
		}
		for each, resource := range wanted {
			for place := range places {
				if each.meets(place) {
					stack := other.State.Stack[strings.LastIndexByte(other.State.Stack, '/')+1:]
					return &TakenError{resource, r.named(other.State.Project, stack), "creates it at this moment", each}
				}
			}
		}
	}
	if g.runs == nil {
		g.runs = map[*Run]map[place]string{}
	}
	g.runs[r] = wanted
	return nil
}

// release removes the places of a run that has ended.
func (g *Registry) release(r *Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, r)
}

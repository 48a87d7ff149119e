package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/settle"
)

// place is a database or a user on an instance. Its name is in lower case: MySQL compares the names of databases in that way
// on some systems. The host of a user does not count, because MySQL chooses among the users of one name.
type place struct{ kind, name, instance string }

// meets reports whether two places may be the same. An empty instance may be any.
func (p place) meets(other place) bool {
	return p.kind == other.kind && p.name == other.name && (p.instance == other.instance || p.instance == "" || other.instance == "")
}

// describe returns the place for a message.
func (p place) describe() string {
	kind := "database "
	if p.kind == project.UserType {
		kind = "user "
	}
	if p.instance == "" {
		return kind + p.name
	}
	return kind + p.name + " of instance " + p.instance
}

// checkOwners rejects a run that would create a database or a user that another stack of the same team has in its state.
// Cloud SQL gives an existing user a new password without an error, and the deletion of either stack would delete the
// database or the user that both use.
//
// checkOwners sees the states in file backends only, and the names in programs in YAML. A name with a reference other than
// to the config is known only when the program runs.
func (r *run) checkOwners(ctx context.Context) error {
	if r.Operation != Up && r.Operation != Preview || r.located.Folder == "" {
		return nil
	}
	declared, defaults, err := r.project.Databases(r.files)
	if err != nil {
		return r.failure(ProjectInvalid, "%v", err)
	}
	wanted := map[place]string{} // the logical names of the resources
	for _, each := range declared {
		name := r.resolve(each.Name, defaults)
		if name == "" {
			continue
		}
		instance := r.resolve(each.Instance, defaults)
		wanted[place{each.Type, strings.ToLower(name), instance[strings.LastIndexByte(instance, '/')+1:]}] = each.Resource
	}
	own, err := r.state().Read()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return r.failure(Failed, "read the state of stack %q: %v", r.Stack, err)
	}
	settle.EachNamed(ctx, own, func(kind, name, instance string) bool {
		has := place{kind, strings.ToLower(name), instance}
		for each := range wanted {
			if each.meets(has) {
				delete(wanted, each)
			}
		}
		return len(wanted) > 0
	})
	if len(wanted) == 0 {
		return nil
	}
	// The order matters: another run that ends in between has its resources in its state.
	if at, owner := r.created.take(r, wanted); owner != "" {
		return r.taken(wanted[at], at, owner, "creates it at this moment")
	}
	var found place
	owner := ""
	r.state().EachOther(ctx, func(projectName, stack string, state []byte) bool {
		settle.EachNamed(ctx, state, func(kind, name, instance string) bool {
			for each := range wanted {
				if each.meets(place{kind, strings.ToLower(name), instance}) {
					found, owner = each, r.named(projectName, stack)
				}
			}
			return owner == ""
		})
		return owner == ""
	})
	if owner != "" {
		return r.taken(wanted[found], found, owner, "owns it")
	}
	return nil
}

// taken returns the error about a database or a user of another stack.
func (r *run) taken(resource string, at place, owner, does string) error {
	return r.failure(Failed, "resource %q is the %s, and %s %s: choose another name, or remove it from %s first", resource, at.describe(), owner, does, owner)
}

// named returns how users know another stack.
func (r *run) named(projectName, stack string) string {
	known := ""
	if r.Named != nil {
		known = r.Named(projectName, stack)
	}
	return cmp.Or(known, fmt.Sprintf("stack %s of project %s", stack, projectName))
}

// resolve replaces the references to config values in a text. It returns "" if a value is known only when the program runs.
func (r *run) resolve(text string, defaults map[string]string) string {
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
			set = r.Config[r.Project+":"+key]
		}
		switch {
		case !closed:
			return ""
		case key == "pulumi.stack":
			value = r.Stack[strings.LastIndexByte(r.Stack, '/')+1:]
		case key == "pulumi.project":
			value = r.Project
		case set != nil:
			if json.Unmarshal(set, &value) != nil {
				return ""
			}
		default:
			value = defaults[key]
		}
		if value == "" {
			return ""
		}
		done.WriteString(value)
		text = rest
	}
}

// creations holds the databases and users that active runs may create, and that no state lists yet. Its zero value is ready
// for use.
type creations struct {
	mu   sync.Mutex
	runs map[*run]map[place]string
}

// take adds the places of a run. If another run of the same team has one of them, take adds none and returns this place and
// how users know the stack of the other run.
func (c *creations) take(r *run, wanted map[place]string) (at place, owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, places := range c.runs {
		if other.BackendFolder != r.BackendFolder {
			continue
		}
		for each := range wanted {
			for place := range places {
				if each.meets(place) {
					return each, r.named(other.Project, other.Stack[strings.LastIndexByte(other.Stack, '/')+1:])
				}
			}
		}
	}
	if c.runs == nil {
		c.runs = map[*run]map[place]string{}
	}
	c.runs[r] = wanted
	return place{}, ""
}

// release removes the places of a run that has ended.
func (c *creations) release(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.runs, r)
}

package owners

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/owners/taken"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/settle"
)

// Run is a run that may create databases and users. Declared and State are required.
type Run struct {
	// Declared are the databases and users that the program declares.
	Declared []project.Database
	// Opaque says that the program may create further databases and users, because it is not in YAML.
	Opaque bool
	// Config holds the run's config values as JSON. Defaults holds those of the program as text: they apply to keys that nothing
	// else sets. Secret has the keys of the secret config values, which are known only to the run.
	Config   map[string]json.RawMessage
	Defaults map[string]string
	Secret   map[string]string
	// State locates the state of the run's stack. Its Parent is the folder of the team.
	State backend.State
	// Named returns how users know another stack, or "".
	Named func(project, stack string) string
}

// wanted returns the declared places.
func (r *Run) wanted() map[place]string {
	wanted := map[place]string{}
	for _, each := range r.Declared {
		value := r.valueOf
		if each.Inner {
			value = func(string) string { return "" }
		}
		name, instance := resolve(each.Name, value), resolve(each.Instance, value)
		if strings.Contains(instance, unknown) {
			instance = ""
		}
		if name == "" {
			name = unknown
		}
		wanted[place{each.Type, taken.Fold(name), instance[strings.LastIndexByte(instance, '/')+1:]}] = each.Resource
	}
	return wanted
}

// maxOthers bounds how many databases and users of other stacks a run may have to avoid. No instance has as many.
const maxOthers = 20_000

// inStates looks for places in the states of the team's other stacks. It returns the resources that meet a place whose name
// is not known.
func (r *Run) inStates(ctx context.Context, wanted map[place]string) (others []taken.Resource, err error) {
	r.State.EachOther(ctx, func(projectName, stack string, state []byte) bool {
		_ = settle.EachNamed(ctx, state, func(kind, name, instance string) bool {
			has, unsure := place{kind, taken.Fold(name), instance}, false
			for each, resource := range wanted {
				if !each.meets(has) {
					continue
				}
				if each.known() {
					err = &TakenError{resource, r.named(projectName, stack), "owns it", each}
					return false
				}
				unsure = true
			}
			if unsure {
				others = append(others, taken.Resource{Type: kind, Name: name, Instance: instance, Owner: r.named(projectName, stack)})
			}
			if len(others) > maxOthers {
				err = fmt.Errorf("the other stacks of the team have more than %d databases and users: give the databases and users of this program names without outputs of resources", maxOthers)
			}
			return err == nil
		})
		return err == nil
	})
	return others, err
}

// named returns how users know another stack.
func (r *Run) named(projectName, stack string) string {
	known := ""
	if r.Named != nil {
		known = r.Named(projectName, stack)
	}
	return cmp.Or(known, fmt.Sprintf("stack %s of project %s", stack, projectName))
}

// resolve replaces the references in a text by their values, and those without a value by unknown.
func resolve(text string, value func(key string) string) string {
	var done strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		done.WriteString(before)
		if !found {
			return done.String()
		}
		key, rest, closed := strings.Cut(after, "}")
		if !closed {
			return done.String() + unknown
		}
		done.WriteString(cmp.Or(value(key), unknown))
		text = rest
	}
}

// valueOf returns the config value that a reference names, or "".
func (r *Run) valueOf(key string) (value string) {
	switch key {
	case "pulumi.stack":
		return r.State.Stack[strings.LastIndexByte(r.State.Stack, '/')+1:]
	case "pulumi.project":
		return r.State.Project
	}
	qualified := r.State.Project + ":" + key
	short, long := r.Config[key], r.Config[qualified]
	_, secret := r.Secret[key]
	_, secretToo := r.Secret[qualified]
	switch set := cmp.Or(string(short), string(long)); {
	case secret, secretToo, short != nil && long != nil: // pulumi uses either value
		return ""
	case set == "":
		return r.Defaults[key]
	case json.Unmarshal([]byte(set), &value) != nil:
		return ""
	}
	return value
}

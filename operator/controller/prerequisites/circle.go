package prerequisites

import (
	"strings"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/controller/stall"
)

// CheckCircle returns a [*stall.Error] if the prerequisites of a Stack lead back to it: Stacks that wait for each other would wait
// forever. stacks are the Stacks of the namespace by their names; others do not count.
func CheckCircle(stack *v1.Stack, stacks map[string]*v1.Stack) error {
	c := newCircles(stack, func(name string) (*v1.Stack, error) { return stacks[name], nil })
	for _, required := range stack.Spec.Prerequisites {
		if next := stacks[required.Name]; next != nil {
			if err := c.check(next); err != nil {
				return err
			}
		}
	}
	return nil
}

// circles finds paths back to a Stack.
type circles struct {
	stack *v1.Stack

	// get returns a Stack, or nil if there is none.
	get func(name string) (*v1.Stack, error)

	// seen has the Stacks that were visited: one that is in no circle from one prerequisite is in none from another.
	seen map[string]bool
}

func newCircles(stack *v1.Stack, get func(name string) (*v1.Stack, error)) *circles {
	return &circles{stack, get, map[string]bool{}}
}

// check returns an error if a prerequisite leads back to the Stack.
func (c *circles) check(prerequisite *v1.Stack) error {
	path, err := c.from(prerequisite)
	if err == nil && path != nil {
		err = stall.Invalid("spec.prerequisites: Stacks wait for each other: %s -> %s: remove one of these prerequisites", c.stack.Name, strings.Join(path, " -> "))
	}
	return err
}

// from returns the path from a Stack to that of circles, or nil if there is none.
func (c *circles) from(stack *v1.Stack) ([]string, error) {
	c.seen[stack.Name] = true
	if len(c.seen) > fields.MostPrerequisites {
		return nil, stall.Invalid("spec.prerequisites: more than %d Stacks come before this one: remove some", fields.MostPrerequisites)
	}
	for _, required := range stack.Spec.Prerequisites {
		if required.Name == c.stack.Name {
			return []string{stack.Name, required.Name}, nil
		}
		if c.seen[required.Name] {
			continue
		}
		next, err := c.get(required.Name)
		if err != nil {
			return nil, err
		}
		if next == nil {
			continue
		}
		if rest, err := c.from(next); rest != nil || err != nil {
			return append([]string{stack.Name}, rest...), err
		}
	}
	return nil, nil
}

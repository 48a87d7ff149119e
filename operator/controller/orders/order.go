package orders

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-platform/strata/catalogue"
)

// maxPair is the longest name of a team and an order together: with the underscore between them, they are the name of a
// MySQL user, which has at most 32 characters.
const maxPair = 31

// teamPattern matches the names of teams, and orderPattern those of orders, without two hyphens in a row. The team's name
// may have them, but the order's name has none, so the last two hyphens of team--order separate the two.
var (
	teamPattern  = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	orderPattern = regexp.MustCompile(`^[a-z]([a-z0-9]|-[a-z0-9])*$`)
)

// names are the names that follow from a team and an order. Two orders of a kind never share one.
type names struct {
	// team is the name of the team, and order that of the order.
	team, order string
}

// namesOf checks the names of a team and an order.
func namesOf(team, order string) (names, error) {
	switch {
	case !teamPattern.MatchString(team):
		return names{}, fmt.Errorf("the TenantPolicy of the namespace names the team %q, which is not a valid name: ask the platform team to correct it", team)
	case !orderPattern.MatchString(order):
		return names{}, fmt.Errorf("the name %q must consist of lower-case letters, digits and single hyphens: choose another name", order)
	case len(team)+len(order) > maxPair:
		return names{}, fmt.Errorf("the name %s has %d characters: with those of the team's name, %s, at most %d are possible: choose a shorter name", order, len(order), team, maxPair)
	}
	return names{team, order}, nil
}

// separator is between the names of a team and its order in the name of a Stack.
const separator = "--"

// stack is the name of the order's Stack in the entry's namespace, of its Pulumi stack, and of the Secret that its Program
// creates.
func (n names) stack() string { return n.team + separator + n.order }

// content is the name of the resources that the order creates, such as a database and its user. No team's name contains an
// underscore, so the first underscore separates the team from the order.
func (n names) content() string { return n.team + "_" + n.order }

// result is the name of the Secret and the ConfigMap in the team's namespace. The name of an entry contains no hyphen, so the
// results of orders of two kinds never have the same name.
func (n names) result(kind Kind) string { return n.order + "-" + kind.Singular }

// order is an order of a team.
type order struct {
	*unstructured.Unstructured
	kind Kind
}

func emptyOrder(kind Kind) order {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: catalogue.Group, Version: catalogue.Version, Kind: kind.Name})
	return order{object, kind}
}

// fields returns the fields of the spec that the entry's schema has.
func (o order) fields() map[string]any {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	delete(spec, "onDelete")
	return spec
}

// destroys reports whether the deletion of the order also deletes the resources that it created.
func (o order) destroys() bool {
	value, _, _ := unstructured.NestedString(o.Object, "spec", "onDelete")
	return value == "delete"
}

// Package rules describes the behaviour of properties that the Go types of an SDK do not show: defaults, checks,
// secrets and the effect of changes.
package rules

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// Rule describes the special behaviour of one property. Its zero value is an optional input that can change in place.
type Rule struct {
	// Required marks a required input of a type that the SDK never requires, such as a list.
	Required bool
	// Replace means that a change replaces the resource. For an object or a list of objects, Replace applies only to
	// adding and removing them: their fields have rules of their own.
	Replace bool
	// Computed marks an input that the service sets if the program does not. Removing it from the program is no change.
	Computed bool
	// Secret marks an output that is always secret. A secret input stays secret without this mark.
	Secret bool
	// Set marks a list without a meaningful order.
	Set bool
	// Default is the value that the provider sets if the program sets none. Nil means no default. A default inside an
	// object applies only if the program sets the object.
	Default any
	// OneOf lists the allowed values of a string, or of each string in a list. Empty means any value.
	OneOf []string
	// Range holds the minimum and the maximum of a number. The zero value means any number. See AtLeast.
	Range [2]int
	// Excludes are the paths of inputs that conflict with this one. If this input is set, they get no defaults.
	Excludes []string
	// Check returns why a string is invalid, as a clause that follows the path: "must be ...". It returns "" for a
	// valid string. It may be nil.
	Check func(value string) string
	// Same reports whether two strings mean the same value. A missing string is "". If Same is nil, only equal strings
	// do.
	Same func(a, b string) bool
}

// AtLeast returns the Range of numbers without a maximum.
func AtLeast(n int) [2]int { return [2]int{n, math.MaxInt} }

// ByPath maps paths to the rules of a resource. Paths are dotted and omit array indices ("settings.tier"). A property
// without an entry has the zero rule.
type ByPath map[string]Rule

// With adds the rules of a part that several resources share, with prefix before their paths. It returns r.
func (r ByPath) With(prefix string, more ByPath) ByPath {
	for path, rule := range more {
		r[value.Join(prefix, path)] = rule
	}
	return r
}

// Each sets the same rule for all paths. White space separates the paths. It returns r.
func (r ByPath) Each(rule Rule, paths string) ByPath {
	for path := range strings.FieldsSeq(paths) {
		r[path] = rule
	}
	return r
}

// where returns the sorted paths of the rules for which has returns true.
func (r ByPath) where(has func(Rule) bool) []string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(r)) {
		if has(r[path]) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Secrets returns the paths of outputs that are always secret.
func (r ByPath) Secrets() []string { return r.where(func(rule Rule) bool { return rule.Secret }) }

// Required returns the paths of the inputs that a rule requires.
func (r ByPath) Required() []string {
	return r.where(func(rule Rule) bool { return rule.Required })
}

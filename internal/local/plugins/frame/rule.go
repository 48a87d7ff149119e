package frame

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// Rule describes the special behaviour of one property. Its zero value is an optional input that can change in place.
type Rule struct {
	// Required marks a required input that the Go types do not show as one, such as a list.
	Required bool
	// Replace means that a change replaces the resource. For an object or a list of objects, Replace applies only to
	// adding and removing them: their fields have rules of their own.
	Replace bool
	// Computed marks an input that the service fills in if the program does not set it. Removing it is no change.
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
	// Excludes are the paths of inputs that exclude this one. If this input is set, they get no defaults.
	Excludes []string
	// Check returns one clause that names the fault of a string, or "". It may be nil.
	Check func(value string) string
	// Same reports whether two strings mean the same value. A missing string is "". Nil means that only equal strings
	// do.
	Same func(a, b string) bool
}

// AtLeast returns the range of the numbers from n on.
func AtLeast(n int) [2]int { return [2]int{n, math.MaxInt} }

// Rules maps paths to the rules of a resource. Paths are dotted and omit array indices ("settings.tier"). A property
// without an entry has the zero rule.
type Rules map[string]Rule

// With adds rules with prefix before their paths, for parts that several resources share. It returns r.
func (r Rules) With(prefix string, more Rules) Rules {
	for path, rule := range more {
		r[join(prefix, path)] = rule
	}
	return r
}

// Each sets one rule for all paths, which white space separates. It returns r.
func (r Rules) Each(rule Rule, paths string) Rules {
	for path := range strings.FieldsSeq(paths) {
		r[path] = rule
	}
	return r
}

// where returns the sorted paths whose rules satisfy has.
func (r Rules) where(has func(Rule) bool) []string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(r)) {
		if has(r[path]) {
			paths = append(paths, path)
		}
	}
	return paths
}

func (r Rules) secrets() []string { return r.where(func(rule Rule) bool { return rule.Secret }) }

// required returns the paths of required inputs.
func (r Rules) required() []string {
	return r.where(func(rule Rule) bool { return rule.Required })
}

// withDefaults adds the defaults of the properties below path to the inputs m, and records their names under
// defaultsKey.
func (r Rules) withDefaults(path string, m, root property.Map) property.Map {
	var chosen []property.Value
	for _, k := range r.where(func(rule Rule) bool { return rule.Default != nil }) {
		parent, name := splitPath(k)
		if parent != path || !m.Get(name).IsNull() || r.excluded(k, root) {
			continue
		}
		m = m.Set(name, fromPlain(r[k].Default))
		chosen = append(chosen, property.New(name))
	}
	m = m.Delete(defaultsKey)
	if len(chosen) > 0 {
		m = m.Set(defaultsKey, property.New(chosen))
	}
	for k, v := range m.All {
		if inner := join(path, k); !internalKey(k) && r.reach(inner) {
			m = m.Set(k, r.withInnerDefaults(inner, v, root))
		}
	}
	return m
}

func (r Rules) withInnerDefaults(path string, v property.Value, root property.Map) property.Value {
	switch {
	case v.IsMap():
		return property.WithGoValue(v, r.withDefaults(path, v.AsMap(), root))
	case v.IsArray():
		list := v.AsArray().AsSlice()
		for i, e := range list {
			list[i] = r.withInnerDefaults(path, e, root)
		}
		return property.WithGoValue(v, property.NewArray(list))
	default:
		return v
	}
}

// reach reports whether there are rules below path.
func (r Rules) reach(path string) bool {
	for k := range r {
		if strings.HasPrefix(k, path+".") {
			return true
		}
	}
	return false
}

// excluded reports whether a present input excludes the input at path.
func (r Rules) excluded(path string, root property.Map) bool {
	for k, rule := range r {
		if slices.Contains(rule.Excludes, path) && !At(root, k).IsNull() {
			return true
		}
	}
	return slices.ContainsFunc(r[path].Excludes, func(k string) bool { return !At(root, k).IsNull() })
}

// check returns the failures of v, the value at path. shown is the path in the engine's notation.
func (r Rules) check(path, shown string, v property.Value, root property.Map) []p.CheckFailure {
	var failures []p.CheckFailure
	refuse := func(format string, args ...any) {
		failures = append(failures, p.CheckFailure{Property: shown, Reason: fmt.Sprintf(format, args...)})
	}
	rule := r[path]
	if path != "" && !v.IsNull() {
		for _, other := range rule.Excludes {
			if o := At(root, other); !o.IsNull() && !o.IsComputed() {
				refuse("%s cannot stand beside %s: remove one of them", shown, other)
			}
		}
	}
	switch {
	case v.IsString():
		if len(rule.OneOf) > 0 && !slices.Contains(rule.OneOf, v.AsString()) {
			refuse("%s must be one of %s, not %q", shown, strings.Join(rule.OneOf, ", "), v.AsString())
		}
		if rule.Check != nil {
			if reason := rule.Check(v.AsString()); reason != "" {
				refuse("%s %s", shown, reason)
			}
		}
	case v.IsNumber():
		switch n, r := v.AsNumber(), rule.Range; {
		case r == [2]int{} || n >= float64(r[0]) && n <= float64(r[1]):
		case r[1] == math.MaxInt:
			refuse("%s must be at least %d, not %v", shown, r[0], n)
		default:
			refuse("%s must be from %d to %d, not %v", shown, r[0], r[1], n)
		}
	case v.IsArray():
		for i, e := range v.AsArray().All {
			inner := r.check(path, fmt.Sprintf("%s[%d]", shown, i), e, property.Map{})
			failures = append(failures, inner...)
		}
	case v.IsMap():
		for k, e := range v.AsMap().AllStable {
			if !internalKey(k) {
				failures = append(failures, r.check(join(path, k), child(shown, k), e, root)...)
			}
		}
	}
	return failures
}

// At returns the value at a path, or null. The path must not lead through arrays.
func At(m property.Map, path string) property.Value {
	head, rest, deeper := strings.Cut(path, ".")
	v := m.Get(head)
	switch {
	case !deeper:
		return v
	case v.IsMap():
		return At(v.AsMap(), rest)
	default:
		return property.New(property.Null)
	}
}

func splitPath(path string) (parent, name string) {
	i := strings.LastIndex(path, ".")
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

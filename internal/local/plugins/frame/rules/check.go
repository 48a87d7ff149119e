package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// Check returns a failure for each input that violates a rule. Unknown values violate no rule.
func (r ByPath) Check(inputs property.Map) []p.CheckFailure {
	return r.check("", "", property.New(inputs), inputs)
}

// check returns the failures of v. path is the path of its rule, shown the path in the engine's notation, and root all
// inputs of the resource.
func (r ByPath) check(path, shown string, v property.Value, root property.Map) []p.CheckFailure {
	var failures []p.CheckFailure
	refuse := func(format string, args ...any) {
		failures = append(failures, p.CheckFailure{Property: shown, Reason: fmt.Sprintf(format, args...)})
	}
	rule := r[path]
	if path != "" && !v.IsNull() {
		for _, other := range rule.Excludes {
			if o := value.At(root, other); !o.IsNull() && !o.IsComputed() {
				refuse("%s conflicts with %s: remove one of them", shown, other)
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
			// Conflicts are paths from the root and say nothing about single elements.
			inner := r.check(path, fmt.Sprintf("%s[%d]", shown, i), e, property.Map{})
			failures = append(failures, inner...)
		}
	case v.IsMap():
		for k, e := range v.AsMap().AllStable {
			if !value.Internal(k) {
				failures = append(failures, r.check(value.Join(path, k), value.Child(shown, k), e, root)...)
			}
		}
	}
	return failures
}

package report

import (
	"github.com/strata-platform/strata/internal/audit/graph"
)

// Change is a difference between two reports: of an attempt, or of a path.
type Change struct {
	Identity string `json:"identity"`
	// What is the act, with its object, or the jewel of a path.
	What string `json:"what"`
	// Before and After are the ends of the attempt, or "path" for a path. They are empty where a report has no such attempt.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// String describes a change in one line.
func (c Change) String() string {
	text := func(state string) string {
		if state == "" {
			return "absent"
		}
		return state
	}
	return c.Identity + ", " + c.What + ": " + text(c.Before) + " → " + text(c.After)
}

// Compare sets the changes of the report since an older one.
func (r *Report) Compare(old *Report) {
	r.Changes = []Change{}
	before, after := states(old), states(r)
	for _, key := range append(sorted(before), missing(after, before)...) {
		was, is := before[key], after[key]
		if was.state == is.state {
			continue
		}
		named := is
		if named.identity == "" {
			named = was
		}
		r.Changes = append(r.Changes, Change{Identity: named.identity, What: named.what, Before: was.state, After: is.state})
	}
}

type state struct{ identity, what, state string }

// states returns the ends of the attempts and the paths of a report, by their keys.
func states(r *Report) map[string]state {
	all := map[string]state{}
	for _, result := range r.Results {
		what := result.What
		if result.On != "" {
			what += ": " + result.On
		}
		all["attempt\x00"+result.Key()] = state{result.Identity, what, string(result.Outcome)}
	}
	for _, path := range r.Paths {
		all["path\x00"+path.Key()] = state{path.Identity, "reaches " + path.Jewel, pathState(path)}
	}
	return all
}

func pathState(path graph.Path) string {
	if path.Expected {
		return "path of the design"
	}
	return "unexpected path"
}

// missing returns the keys of a that b does not have, sorted.
func missing(a, b map[string]state) []string {
	var keys []string
	for _, key := range sorted(a) {
		if _, ok := b[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// Package cause finds the objects that explain why other objects are not ready.
//
// From each object that is not ready, rules go down to the objects that it needs: from a Kustomization to its source, from
// a Stack to the Secret that it reads, from that Secret to the layer that creates it. An object is a cause if all objects
// that it needs are ready. Explain says how to fix it, and who can.
package cause

import (
	"cmp"
	"slices"

	"github.com/strata-platform/strata/internal/status/graph"
)

// rule finds the objects that an unready object needs.
type rule struct {
	// kinds are the kinds that the rule applies to; nil means all.
	kinds []string
	// because describes the rule, as docs/reference/status.md does.
	because string
	// needed returns the objects that the object needs, the likeliest reason first. The caller skips ready ones, and nil.
	needed func(g *graph.Graph, o *graph.Object) []*graph.Object
}

// rules returns all rules, in the order in which causeOf applies them to an object.
func rules() []rule {
	return slices.Concat(belongingRules(), syncRules(), stackRules(), workloadRules())
}

// causeOf follows the rules from an unready object to the object that explains it. walked prevents endless rounds.
func causeOf(g *graph.Graph, o *graph.Object, walked map[*graph.Object]bool) *graph.Object {
	walked[o] = true
	for _, r := range rules() {
		if !slices.Contains(r.kinds, o.Kind) && r.kinds != nil {
			continue
		}
		for _, next := range r.needed(g, o) {
			if next != nil && !next.Ready && !walked[next] {
				return causeOf(g, next, walked)
			}
		}
	}
	return o
}

// Of returns the cause of an unready object: it follows causes until an object is its own cause. In a cycle of causes it
// always picks the same object.
func Of(g *graph.Graph, o *graph.Object) *graph.Object {
	var round []*graph.Object
	for {
		next := causeOf(g, o, map[*graph.Object]bool{})
		if next == o {
			return o
		}
		if i := slices.Index(round, next); i >= 0 {
			return slices.MinFunc(round[i:], func(a, b *graph.Object) int { return cmp.Compare(a.Ref(), b.Ref()) })
		}
		round = append(round, next)
		o = next
	}
}

// referrers maps each object to the first unready object that refers to it. Every object must have its state.
func referrers(g *graph.Graph) map[*graph.Object]*graph.Object {
	found := map[*graph.Object]*graph.Object{}
	for _, each := range g.Shown() {
		if each.Ready || each.Content == nil {
			continue
		}
		for _, needed := range needs(g, each) {
			if needed != nil && needed != each && found[needed] == nil {
				found[needed] = each
			}
		}
	}
	return found
}

// needs returns the objects that an object needs according to the rules for its kind.
func needs(g *graph.Graph, o *graph.Object) []*graph.Object {
	var list []*graph.Object
	for _, r := range rules() {
		if slices.Contains(r.kinds, o.Kind) {
			list = append(list, r.needed(g, o)...)
		}
	}
	return list
}

// searched is the number of bytes at the beginning of a message that the rules search. A team's message may have a megabyte,
// and the errors of Flux, the operator and the API server are short.
const searched = 8 << 10

// beginning returns the beginning of an object's message.
func beginning(o *graph.Object) string { return o.Message[:min(len(o.Message), searched)] }

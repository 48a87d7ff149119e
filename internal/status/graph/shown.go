package graph

import (
	"cmp"
	"slices"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

// Shown returns the objects of the report in their order: the required objects, the missing objects, and the objects of
// shownKinds.
func (g *Graph) Shown() []*Object {
	required := g.Scope.Required()
	var list []*Object
	for k, o := range g.Objects {
		if o.Layer == "" {
			continue
		}
		if slices.Contains(required, k) || !o.Ready && o.Content == nil || slices.Contains(shownKinds, k.Kind) {
			list = append(list, o)
		}
	}
	kindOrder := map[string]int{}
	for i, k := range snapshot.Kinds {
		kindOrder[k.Name] = i
	}
	slices.SortFunc(list, func(a, b *Object) int {
		// A pod follows its owner.
		above, below := a, b
		if owner := g.OwnerOf(a); owner != nil {
			above = owner
		}
		if owner := g.OwnerOf(b); owner != nil {
			below = owner
		}
		return cmp.Or(cmp.Compare(status.LayerRank(a.Layer), status.LayerRank(b.Layer)), cmp.Compare(g.Scope.place(a.Home()), g.Scope.place(b.Home())),
			cmp.Compare(kindOrder[above.Kind], kindOrder[below.Kind]), cmp.Compare(above.Name, below.Name),
			cmp.Compare(kindOrder[a.Kind], kindOrder[b.Kind]), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// shownKinds are the kinds whose objects are all in the report.
var shownKinds = slices.Concat(SourceKinds, []string{
	"Kustomization", "Receiver", "Program", "Stack", "PersistentVolumeClaim",
	"Deployment", "StatefulSet", "Job", "Pod",
})

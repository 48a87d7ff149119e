package status

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/strata-platform/strata/teams"
)

// rule leads from an object that is not ready to those that may be the reason.
type rule struct {
	// kinds are the kinds that it is for, and because is what it says, for the documentation.
	kinds   []string
	because string
	// look returns the objects that may be the reason, the likeliest first; those of them that are ready are none.
	look func(w *world, o *object) []*object
}

// rules are all rules, in the order in which they are tried on an object.
func rules() []rule {
	return slices.Concat(belongingRules(), syncRules(), stackRules(), workloadRules())
}

// causeOf walks down from an object that is not ready to the one that explains it.
func (w *world) causeOf(o *object, walked map[*object]bool) *object {
	walked[o] = true
	for _, r := range rules() {
		if !slices.Contains(r.kinds, o.Kind) && r.kinds != nil {
			continue
		}
		for _, next := range r.look(w, o) {
			if next != nil && !next.Ready && !walked[next] {
				return w.causeOf(next, walked)
			}
		}
	}
	return o
}

// lastCauseOf walks down until what it comes to explains itself. Of those that explain each other it is always the same.
func (w *world) lastCauseOf(o *object) *object {
	var round []*object
	for {
		next := w.causeOf(o, map[*object]bool{})
		if next == o {
			return o
		}
		if i := slices.Index(round, next); i >= 0 {
			return slices.MinFunc(round[i:], func(a, b *object) int { return cmp.Compare(a.ref(), b.ref()) })
		}
		round = append(round, next)
		o = next
	}
}

// splitUnmade takes the teams of which nothing is in the cluster out of the scope, and returns them.
func (w *world) splitUnmade() (unmade []teams.Team) {
	var made []teams.Team
	for _, team := range w.scope.Teams {
		if slices.ContainsFunc(hopOf(team), func(k key) bool { return w.objects[k] != nil }) {
			made = append(made, team)
		} else {
			unmade = append(unmade, team)
		}
	}
	w.scope.Teams = made
	return unmade
}

// report makes the report of a world that has been judged.
func (w *world) report() Report {
	if w.get("Namespace", "", FluxNamespace) == nil && !w.served["Kustomization"] {
		r := NewReport(append(slices.Clone(w.scope.Below), Item{
			Layer: LayerPlatform, Kind: "Layer", Name: LayerPlatform, Reason: reasonNeverMade,
			Message: "layer 2 was never made in this cluster, nor what stands on it: " + platformTeam + ": run " + w.scope.command("up"),
		}))
		r.Engineer = w.scope.Engineer
		return r
	}
	unmade := w.splitUnmade()
	for _, k := range w.scope.required() {
		w.need(k.kind, k.namespace, k.name)
	}
	w.needApplied()
	explained := map[*object][]*object{}
	for _, o := range w.shown() {
		if !o.Ready {
			c := w.lastCauseOf(o)
			explained[c] = append(explained[c], o)
		}
	}
	for c := range explained {
		w.explain(c)
	}
	objects := w.shown()
	position := map[*object]int{}
	r := Report{Ready: true, Items: slices.Clone(w.scope.Below), Engineer: w.scope.Engineer, all: w.scope.call(strings.TrimSpace("status -o json " + w.scope.Flags)), notes: map[int]note{}}
	for _, i := range r.Items {
		r.Ready = r.Ready && i.Ready
	}
	for _, o := range objects {
		position[o] = len(r.Items)
		r.notes[len(r.Items)] = w.note(o)
		r.Items = append(r.Items, o.Item)
		r.Ready = r.Ready && o.Ready
	}
	for _, team := range unmade {
		r.Ready = false
		r.Items = append(r.Items, Item{
			Layer: LayerTeam, Kind: kindTeam, Name: team.Name, Reason: reasonNeverMade,
			Message: "it is in teams.yaml, and nothing of it is made: " + platformTeam + ": run " + w.scope.command("up"),
		})
	}
	if r.Ready {
		return r
	}
	r.robbed = w.robbed(objects)
	var causes []cause
	for i, below := range w.scope.Below {
		if !below.Ready {
			causes = append(causes, cause{item: i})
		}
	}
	for c, of := range explained {
		each := cause{item: position[c]}
		for _, o := range of {
			if o != c {
				each.explains = append(each.explains, position[o])
			}
		}
		slices.Sort(each.explains)
		causes = append(causes, each)
	}
	for i := len(r.Items) - len(unmade); i < len(r.Items); i++ {
		causes = append(causes, cause{item: i})
	}
	// What fails for a reason of its own comes before what is on its way, and a lower layer before a higher one. A Stack that
	// cannot be destroyed is why a `strata down` did not come to its end; a team that was only added harms nothing.
	slices.SortFunc(causes, func(a, b cause) int {
		x, y := r.Items[a.item], r.Items[b.item]
		return cmp.Or(compareBool(x.Kind == kindTeam, y.Kind == kindTeam), compareBool(y.Reason == reasonKept, x.Reason == reasonKept), compareBool(x.progressing(), y.progressing()), cmp.Compare(rank(x), rank(y)), cmp.Compare(a.item, b.item))
	})
	r.mark(causes)
	return r
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// rank orders items by their layer.
func rank(i Item) int { return slices.Index(layers, i.Layer) }

// shown are the objects of the report, in their order: what is ready and of no kind that people look for stays out of it.
func (w *world) shown() []*object {
	required := w.scope.required()
	var list []*object
	for k, o := range w.objects {
		if o.Layer == "" {
			continue
		}
		if slices.Contains(required, k) || !o.Ready && o.content == nil || slices.Contains(shownKinds, k.kind) {
			list = append(list, o)
		}
	}
	kindOrder := map[string]int{}
	for i, k := range kinds {
		kindOrder[k.name] = i
	}
	slices.SortFunc(list, func(a, b *object) int {
		// A pod stands below what made it.
		above, below := a, b
		if owner := w.ownerOf(a); owner != nil {
			above = owner
		}
		if owner := w.ownerOf(b); owner != nil {
			below = owner
		}
		return cmp.Or(cmp.Compare(rank(a.Item), rank(b.Item)), cmp.Compare(w.scope.place(a.home()), w.scope.place(b.home())),
			cmp.Compare(kindOrder[above.Kind], kindOrder[below.Kind]), cmp.Compare(above.Name, below.Name),
			cmp.Compare(kindOrder[a.Kind], kindOrder[b.Kind]), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// home is the namespace with which an object is shown.
func (o *object) home() string {
	if o.Kind == "Namespace" {
		return o.Name
	}
	return o.Namespace
}

// shownKinds are the kinds of which every object is in the report.
var shownKinds = []string{
	"GitRepository", "OCIRepository", "Bucket", "Kustomization", "Receiver", "Program", "Stack", "PersistentVolumeClaim",
	"Deployment", "StatefulSet", "Job", "Pod",
}

// keys of a map, sorted, for messages that stay the same.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

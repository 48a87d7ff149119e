package status

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/strata-platform/strata/teams"
)

// rule leads from an unready object to the objects that may be the reason.
type rule struct {
	// kinds are the kinds that the rule applies to. because describes the rule, for the documentation.
	kinds   []string
	because string
	// look returns the objects that may be the reason, the likeliest first. Ready objects among them do not count.
	look func(w *world, o *object) []*object
}

// rules returns all rules. They are tried on an object in this order.
func rules() []rule {
	return slices.Concat(belongingRules(), syncRules(), stackRules(), workloadRules())
}

// causeOf follows the rules from an unready object to the object that explains it.
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

// lastCauseOf follows causes until an object is its own cause. From a cycle of causes it always picks the same object.
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

// splitUnmade removes the teams without any object in the cluster from the scope, and returns them.
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

// report returns the report on a world whose objects have their states.
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
	// A failure of its own precedes an object in progress, and a lower layer precedes a higher one. A Stack that cannot
	// be destroyed comes first, because it blocks a `strata down`. A team that was only added to teams.yaml comes last,
	// because it affects nothing else.
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

// rank returns the position of an item's layer.
func rank(i Item) int { return slices.Index(layers, i.Layer) }

// shown returns the objects of the report in their order: required objects, missing objects, and the objects of
// shownKinds.
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
		// A pod comes below its owner.
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

// home returns the namespace under which the report shows an object.
func (o *object) home() string {
	if o.Kind == "Namespace" {
		return o.Name
	}
	return o.Namespace
}

// shownKinds are the kinds whose objects are all in the report.
var shownKinds = []string{
	"GitRepository", "OCIRepository", "Bucket", "Kustomization", "Receiver", "Program", "Stack", "PersistentVolumeClaim",
	"Deployment", "StatefulSet", "Job", "Pod",
}

// sorted returns the sorted keys of a map, so that messages are stable.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

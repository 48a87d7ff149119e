// Package status contains the report on a platform: its objects, layer by layer, and the root cause if one is not ready.
// It prints the report as a tree, and the difference from an older report as lines.
//
// Package inspect makes the report from the objects in the cluster.
package status

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Names of the layers, from the lowest.
const (
	LayerBootstrap = "bootstrap"
	LayerPlatform  = "platform"
	LayerSync      = "sync"
	LayerTeam      = "team"
)

var layers = []string{LayerBootstrap, LayerPlatform, LayerSync, LayerTeam}

// LayerRank returns the position of a layer: 0 for the lowest, -1 for an unknown name.
func LayerRank(layer string) int { return slices.Index(layers, layer) }

// Report is the state of a platform. Its JSON form is stable: new versions add fields, but neither rename nor remove any.
type Report struct {
	Ready bool   `json:"ready"`
	Items []Item `json:"items"`
	// Skew are versions of the platform's parts that do not fit together. A part that cannot work is an unready item, too.
	Skew []Skew `json:"skew,omitempty"`

	// Engineer is the identity that runs layer 1, for the tree; empty if unknown.
	Engineer string `json:"-"`
	// Command is the command that prints the whole report, for the tree; empty means `strata status -o json`.
	Command string `json:"-"`
	// Notes maps positions in Items to their notes in the tree. An item without an entry has an empty note.
	Notes map[int]Note `json:"-"`
	// Causes are the items that explain the unready ones, the root cause first. SetCauses sets them.
	Causes []Cause `json:"-"`
	// Incomplete are the Kustomizations that have applied objects that are now missing.
	Incomplete []types.NamespacedName `json:"-"`
	// Early are the Kustomizations that failed because the cluster does not serve one of their kinds yet.
	Early []types.NamespacedName `json:"-"`
}

// Cause is an item that explains why others are not ready. Both fields are positions in Report.Items.
type Cause struct {
	Item     int
	Explains []int
}

// NewReport returns a report of items. Each item depends on the previous ones. The root cause is the first item with a
// failure of its own, or else the first item in progress, or else the first one that waits for a person.
func NewReport(items []Item) Report {
	r := Report{Items: items}
	first := -1
	for i, item := range items {
		if !item.Ready && (first < 0 || item.urgency() < items[first].urgency()) {
			first = i
		}
	}
	if r.Ready = first < 0; !r.Ready {
		r.SetCauses([]Cause{{Item: first}})
	}
	return r
}

// SetCauses sorts one or more causes by precedence, sets Causes, and marks the first one as the root cause.
//
// A failed item precedes one in progress, which precedes one that waits for a person, and a lower layer precedes a higher one. A Stack whose deletion fails comes
// first, because it blocks `strata down`. A team that only teams.yaml contains comes last, because it affects nothing else.
func (r *Report) SetCauses(causes []Cause) {
	slices.SortFunc(causes, func(a, b Cause) int {
		x, y := r.Items[a.Item], r.Items[b.Item]
		return cmp.Or(compareBool(x.Kind == KindTeam, y.Kind == KindTeam), compareBool(y.Reason == ReasonKept, x.Reason == ReasonKept),
			cmp.Compare(x.urgency(), y.urgency()), cmp.Compare(LayerRank(x.Layer), LayerRank(y.Layer)), cmp.Compare(a.Item, b.Item))
	})
	r.Causes = causes
	r.Items[causes[0].Item].RootCause = true
}

// compareBool compares two values for sorting: false precedes true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// RootCause returns the item that explains why the platform is not ready. found is false if the platform is ready.
func (r Report) RootCause() (cause Item, found bool) {
	for _, i := range r.Items {
		if i.RootCause {
			return i, true
		}
	}
	return Item{}, false
}

// Lacks reports whether an object that a layer creates is missing or incomplete, or has lost the permissions that the
// layer grants. Pulumi compares a program with its own state, so only a refresh detects this.
func (r Report) Lacks(layer string) bool {
	return slices.ContainsFunc(r.Items, func(i Item) bool {
		if i.Kind == KindTeam && layer == LayerPlatform {
			return true
		}
		return !i.Ready && (i.Layer == layer || layer == LayerPlatform && i.OfHop()) && slices.Contains([]string{ReasonMissing, ReasonDenied, ReasonIncomplete}, i.Reason)
	})
}

// Platform returns the report without the items of teams, whose faults the teams fix. A team that the cluster does not have
// yet stays in the report: the platform team creates it.
func (r Report) Platform() Report {
	return r.Part(func(i Item) bool { return i.Layer != LayerTeam || i.Kind == KindTeam })
}

// UpTo returns the report on the items of a layer and of the layers below it.
func (r Report) UpTo(layer string) Report {
	return r.Part(func(i Item) bool { return LayerRank(i.Layer) <= LayerRank(layer) })
}

// Part returns the report on the items that keep selects.
func (r Report) Part(keep func(Item) bool) Report {
	part := Report{Ready: true, Skew: r.Skew, Engineer: r.Engineer, Command: r.Command, Notes: map[int]Note{}, Incomplete: r.Incomplete, Early: r.Early}
	position := map[int]int{}
	for i, item := range r.Items {
		if !keep(item) {
			continue
		}
		position[i] = len(part.Items)
		part.Notes[len(part.Items)] = r.Notes[i]
		item.RootCause = false
		part.Items = append(part.Items, item)
		part.Ready = part.Ready && item.Ready
	}
	if part.Ready {
		return part
	}
	var causes []Cause
	for _, cause := range r.Causes {
		at, ok := position[cause.Item]
		if !ok || part.Items[at].Ready {
			continue
		}
		each := Cause{Item: at}
		for _, i := range cause.Explains {
			if explained, ok := position[i]; ok {
				each.Explains = append(each.Explains, explained)
			}
		}
		causes = append(causes, each)
	}
	if len(causes) == 0 {
		causes = []Cause{{Item: slices.IndexFunc(part.Items, func(i Item) bool { return !i.Ready })}}
	}
	part.SetCauses(causes)
	return part
}

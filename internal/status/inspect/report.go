package inspect

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/cause"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/message"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/teams"
)

// report returns the report on a graph whose objects have their states.
func report(g *graph.Graph) status.Report {
	if g.Get("Namespace", "", graph.FluxNamespace) == nil && !g.Serves("Kustomization") {
		return withoutLayerTwo(g.Scope)
	}
	newTeams := splitNewTeams(g)
	g.AddMissing()
	early := tooEarly(g.Shown())
	explained := map[*graph.Object][]*graph.Object{}
	for _, o := range g.Shown() {
		if !o.Ready {
			c := cause.Of(g, o)
			explained[c] = append(explained[c], o)
		}
	}
	cause.Explain(g, maps.Keys(explained))
	// The search for causes adds missing objects to the graph, so there are more objects to show than before.
	objects := g.Shown()
	r := status.Report{
		Ready: true, Items: slices.Clone(g.Scope.Below), Engineer: g.Scope.Engineer, Notes: map[int]status.Note{},
		Command: g.Scope.CommandLine("status -o json"),
	}
	for _, i := range r.Items {
		r.Ready = r.Ready && i.Ready
	}
	position := map[*graph.Object]int{}
	for _, o := range objects {
		position[o] = len(r.Items)
		r.Notes[len(r.Items)] = note(g, o)
		r.Items = append(r.Items, o.Item)
		r.Ready = r.Ready && o.Ready
	}
	for _, team := range newTeams {
		r.Ready = false
		r.Items = append(r.Items, status.Item{
			Layer: status.LayerTeam, Kind: status.KindTeam, Name: team.Name, Reason: status.ReasonNotCreated,
			Message: "teams.yaml contains it, and the cluster does not: " + graph.PlatformTeam + ": run " + g.Scope.Command("up"),
		})
	}
	if r.Ready {
		return r
	}
	r.Incomplete, r.Early = incomplete(g, objects), early
	var causes []status.Cause
	for i, below := range g.Scope.Below {
		if !below.Ready {
			causes = append(causes, status.Cause{Item: i})
		}
	}
	for c, unready := range explained {
		each := status.Cause{Item: position[c]}
		for _, o := range unready {
			if o != c {
				each.Explains = append(each.Explains, position[o])
			}
		}
		slices.Sort(each.Explains)
		causes = append(causes, each)
	}
	for i := len(r.Items) - len(newTeams); i < len(r.Items); i++ {
		causes = append(causes, status.Cause{Item: i})
	}
	r.SetCauses(causes)
	return r
}

// withoutLayerTwo returns the report on a cluster that layer 2 has not changed yet.
func withoutLayerTwo(scope graph.Scope) status.Report {
	r := status.NewReport(append(slices.Clone(scope.Below), status.Item{
		Layer: status.LayerPlatform, Kind: "Layer", Name: status.LayerPlatform, Reason: status.ReasonNotCreated,
		Message: "layer 2 has never run on this cluster: " + graph.PlatformTeam + ": run " + scope.Command("up"),
	}))
	r.Engineer = scope.Engineer
	return r
}

// splitNewTeams removes the teams without any object in the cluster from the scope, and returns them. The report shows
// each of them as one item instead of as many missing objects.
func splitNewTeams(g *graph.Graph) (newTeams []teams.Team) {
	var known []teams.Team
	for _, team := range g.Scope.Teams {
		if slices.ContainsFunc(graph.HopOf(team), func(k snapshot.Key) bool { return g.Objects[k] != nil }) {
			known = append(known, team)
		} else {
			newTeams = append(newTeams, team)
		}
	}
	g.Scope.Teams = known
	return newTeams
}

// incomplete returns the Kustomizations that have applied objects that are now missing, in the order of the report.
// Suspended ones do not count, because they apply nothing.
func incomplete(g *graph.Graph, shown []*graph.Object) []types.NamespacedName {
	var found []types.NamespacedName
	for _, o := range shown {
		if o.Ready || o.Reason != status.ReasonMissing {
			continue
		}
		applier := g.Applier(o)
		if applier == nil || applier.Reason == status.ReasonSuspended {
			continue
		}
		if name := (types.NamespacedName{Namespace: applier.Namespace, Name: applier.Name}); !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// tooEarly returns the Kustomizations that failed because the cluster does not serve one of their kinds yet. It needs the
// messages of the cluster, so it comes before the explanations.
func tooEarly(shown []*graph.Object) []types.NamespacedName {
	var found []types.NamespacedName
	for _, o := range shown {
		if o.Kind == "Kustomization" && !o.Ready && message.TooEarly(o.Message) {
			found = append(found, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
		}
	}
	return found
}

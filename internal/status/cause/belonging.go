package cause

import (
	"slices"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/platform"
)

func belongingRules() []rule {
	return []rule{
		{nil, "an object needs its namespace", func(g *graph.Graph, o *graph.Object) []*graph.Object {
			if _, isTeams := g.Scope.Team(o.Namespace); o.Namespace == "" || !isTeams && !slices.Contains(platformNamespaces, o.Namespace) {
				return nil
			}
			return []*graph.Object{g.Need("Namespace", "", o.Namespace)}
		}},
		{nil, "a missing object needs the sync or the Stack that creates it", func(g *graph.Graph, o *graph.Object) []*graph.Object {
			if o.Content != nil {
				return nil
			}
			return makersOf(g, o)
		}},
	}
}

// platformNamespaces are the namespaces of the platform itself.
var platformNamespaces = []string{graph.FluxNamespace, platform.PlatformNamespace, platform.OperatorNamespace}

// makersOf returns the objects that create a missing object.
func makersOf(g *graph.Graph, o *graph.Object) []*graph.Object {
	var list []*graph.Object
	switch {
	case o.Kind == "Secret" || o.Kind == "ConfigMap":
		list = append(list, g.StackDeclaring(o.Kind, o.Namespace, o.Name))
	case o.Kind == "Deployment" && o.Namespace == platform.OperatorNamespace:
		list = append(list, layerThree(g)...)
	}
	return append(list, g.Applier(o))
}

// layerThree returns the Kustomization that applies the platform's repository, and those of layer 3 that it creates.
func layerThree(g *graph.Graph) []*graph.Object {
	list := []*graph.Object{g.Need("Kustomization", platform.PlatformNamespace, platform.PlatformAccount)}
	for _, o := range g.All("Kustomization", platform.PlatformNamespace) {
		if o.Layer == status.LayerSync {
			list = append(list, o)
		}
	}
	return list
}

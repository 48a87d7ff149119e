package status

import (
	"slices"

	"github.com/strata-platform/strata/platform"
)

func belongingRules() []rule {
	return []rule{
		{nil, "everything in a namespace goes with it", func(w *world, o *object) []*object {
			if _, isTeams := w.scope.team(o.Namespace); o.Namespace == "" || !isTeams && !slices.Contains(platformNamespaces, o.Namespace) {
				return nil
			}
			return []*object{w.need("Namespace", "", o.Namespace)}
		}},
		{nil, "what is missing comes with the sync or the Stack that makes it", func(w *world, o *object) []*object {
			if o.content != nil {
				return nil
			}
			return w.makersOf(o)
		}},
	}
}

var platformNamespaces = []string{FluxNamespace, platform.PlatformNamespace, platform.OperatorNamespace}

// makersOf returns the objects that create a missing object.
func (w *world) makersOf(o *object) []*object {
	var list []*object
	switch {
	case o.Kind == "Secret" || o.Kind == "ConfigMap":
		list = append(list, w.makerOf(o.Kind, o.Namespace, o.Name))
	case o.Kind == "Deployment" && o.Namespace == platform.OperatorNamespace:
		list = append(list, w.layerThree()...)
	}
	return append(list, w.applier(o))
}

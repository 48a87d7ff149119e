package graph

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status/snapshot"
)

// index finds related objects of a graph. A team may have hundreds of Stacks, and a scan of all objects for each Stack
// takes seconds. The index computes each part on first use.
//
// A part that depends on the content of objects never becomes stale, because objects that Need adds have no content.
type index struct {
	// homes maps a kind and a namespace to the objects. sorted says whether the objects of a home are sorted by name.
	homes  map[home][]*Object
	sorted map[home]bool
	// inventories maps a Kustomization to the objects that it has applied. appliers is the inverse.
	inventories map[*Object][]snapshot.Key
	appliers    map[snapshot.Key][]*Object
	// makers maps Secrets and ConfigMaps to the Stacks whose Programs declare them.
	makers map[snapshot.Key]*Object
	// owners maps pods to their workloads. pods is the inverse.
	owners map[*Object]*Object
	pods   map[*Object][]*Object
}

// home is a kind in a namespace.
type home struct{ kind, namespace string }

// appliers returns the Kustomizations that have applied each object.
func (g *Graph) appliers() map[snapshot.Key][]*Object {
	if g.index.appliers == nil {
		g.index.appliers = map[snapshot.Key][]*Object{}
		for _, o := range g.Of("Kustomization") {
			for _, applied := range g.Inventory(o) {
				g.index.appliers[applied] = append(g.index.appliers[applied], o)
			}
		}
	}
	return g.index.appliers
}

// makers returns the Stack that creates each Secret and ConfigMap.
func (g *Graph) makers() map[snapshot.Key]*Object {
	if g.index.makers == nil {
		g.index.makers = map[snapshot.Key]*Object{}
		for _, stack := range g.Of("Stack") {
			program := g.Get("Program", stack.Namespace, stack.Text("spec", "programRef", "name"))
			for _, made := range declaredBy(program) {
				if g.index.makers[made] == nil {
					g.index.makers[made] = stack
				}
			}
		}
	}
	return g.index.makers
}

// declaredBy returns the Secrets and ConfigMaps that a Program declares.
func declaredBy(program *Object) []snapshot.Key {
	if program == nil || program.Content == nil {
		return nil
	}
	var list []snapshot.Key
	resources, _, _ := unstructured.NestedMap(program.Content.Object, "program", "resources")
	for _, each := range resources {
		r, ok := each.(map[string]any)
		if !ok {
			continue
		}
		for _, kind := range []string{"Secret", "ConfigMap"} {
			if name := At(r, "properties", "metadata", "name"); name != "" && strings.HasSuffix(At(r, "type"), ":"+kind) {
				list = append(list, snapshot.NewKey(kind, program.Namespace, name))
			}
		}
	}
	return list
}

// StackDeclaring returns the Stack whose Program creates a Secret or ConfigMap, or nil.
func (g *Graph) StackDeclaring(kind, namespace, name string) *Object {
	return g.makers()[snapshot.NewKey(kind, namespace, name)]
}

// ownPods fills in the owners of all pods.
func (g *Graph) ownPods() {
	if g.index.owners != nil {
		return
	}
	g.index.owners, g.index.pods = map[*Object]*Object{}, map[*Object][]*Object{}
	for _, pod := range g.Of("Pod") {
		if owner := g.findOwner(pod); owner != nil {
			g.index.owners[pod] = owner
			g.index.pods[owner] = append(g.index.pods[owner], pod)
		}
	}
}

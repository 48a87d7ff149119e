package graph

import (
	"strings"

	inventory "github.com/fluxcd/cli-utils/pkg/object"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

// Controllers of Flux that every platform needs.
const (
	SourceController       = "source-controller"
	KustomizeController    = "kustomize-controller"
	NotificationController = "notification-controller"
)

// SourceOf returns the source of a Kustomization, or nil if the Kustomization names none.
func (g *Graph) SourceOf(o *Object) *Object {
	name := o.Text("spec", "sourceRef", "name")
	if name == "" {
		return nil
	}
	namespace := o.Text("spec", "sourceRef", "namespace")
	if namespace == "" {
		namespace = o.Namespace
	}
	return g.Need(o.Text("spec", "sourceRef", "kind"), namespace, name)
}

// Inventory returns those objects that a Kustomization has applied whose kinds a snapshot contains.
func (g *Graph) Inventory(o *Object) []snapshot.Key {
	if list, known := g.index.inventories[o]; known {
		return list
	}
	var list []snapshot.Key
	for _, entry := range o.Members("status", "inventory", "entries") {
		id, err := inventory.ParseObjMetadata(At(entry, "id"))
		if kind := kindOf(id.GroupKind); err == nil && kind != "" {
			list = append(list, snapshot.NewKey(kind, id.Namespace, id.Name))
		}
	}
	if g.index.inventories == nil {
		g.index.inventories = map[*Object][]snapshot.Key{}
	}
	g.index.inventories[o] = list
	return list
}

// kindOf returns the name of a kind in an inventory, or "" for a kind that a snapshot does not contain.
func kindOf(group schema.GroupKind) string {
	for _, k := range snapshot.Kinds {
		if k.Name == group.Kind && k.Resource.Group == group.Group {
			return k.Name
		}
	}
	return ""
}

// Stale reports whether a Kustomization is about to apply, or prune, a newer revision than its inventory's. An object
// that is in the inventory but not in the cluster may then have been pruned, and does not count as missing.
func (g *Graph) Stale(o *Object) bool {
	if o.Content == nil || o.Reason == status.ReasonProgressing {
		return true
	}
	source := g.SourceOf(o).Revision()
	return source != "" && source != o.Text("status", "lastAppliedRevision")
}

// webhookSuffix is the end of the name of a Receiver's Secret.
const webhookSuffix = "-webhook"

// AddMissing adds the objects that should exist and do not: the required ones, those in the inventories of Kustomizations,
// and Receivers whose Secret still exists. The objects need their states first, because Stale depends on them.
func (g *Graph) AddMissing() {
	for _, k := range g.Scope.Required() {
		g.Need(k.Kind, k.Namespace, k.Name)
	}
	for k, o := range g.Objects {
		if name, ok := strings.CutSuffix(k.Name, webhookSuffix); ok && k.Kind == "Secret" && o.Layer != "" && o.Content != nil && g.Serves("Receiver") {
			g.Need("Receiver", k.Namespace, name)
		}
		if k.Kind != "Kustomization" || o.Content == nil || o.Reason == status.ReasonTerminating || g.Stale(o) {
			continue
		}
		for _, each := range g.Inventory(o) {
			if g.Serves(each.Kind) {
				g.Need(each.Kind, each.Namespace, each.Name)
			}
		}
	}
}

// Applier returns the Kustomization that has applied an object, or nil.
func (g *Graph) Applier(o *Object) *Object {
	for _, each := range g.appliers()[o.Key()] {
		if o.Content != nil || !g.Stale(each) {
			return each
		}
	}
	return nil
}

// Package graph links the objects of a platform: a pod to its workload, a Kustomization to its source and to the objects
// that it has applied, a Secret to the Stack that creates it. It also knows which objects should exist.
package graph

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

// Graph contains the objects of a platform, and the missing ones that others need.
type Graph struct {
	Scope   Scope
	Objects map[snapshot.Key]*Object

	snapshot *snapshot.Snapshot
	// warnings returns the latest warning about each object.
	warnings func() map[snapshot.Key]*unstructured.Unstructured
	index    index
}

// New returns the graph of a snapshot. Its objects have no states yet: package health sets them.
func New(s *snapshot.Snapshot, scope Scope) *Graph {
	scope.findSources(s.Objects["Kustomization"])
	g := &Graph{Scope: scope, Objects: map[snapshot.Key]*Object{}, snapshot: s}
	g.warnings = sync.OnceValue(func() map[snapshot.Key]*unstructured.Unstructured { return latestWarnings(s.Warnings()) })
	for _, k := range snapshot.Kinds {
		for _, content := range s.Objects[k.Name] {
			o := &Object{Content: content, Item: status.Item{
				Kind: k.Name, Namespace: content.GetNamespace(), Name: content.GetName(), Runtime: content.GetAnnotations()[snapshot.AnnotationRuntime],
			}}
			o.Layer = scope.layer(o.Key())
			g.put(o)
		}
	}
	return g
}

// Serves reports whether the API server serves a kind.
func (g *Graph) Serves(kind string) bool { return g.snapshot.Served[kind] }

// Warning returns the reason and the message of the latest warning about an object, both empty if there is no warning.
func (g *Graph) Warning(o *Object) (reason, message string) {
	warning := g.warnings()[o.Key()]
	return Text(warning, "reason"), Text(warning, "message")
}

// FailedRevision returns the revision in the latest warning about a Kustomization, or "".
func (g *Graph) FailedRevision(o *Object) string {
	if warning := g.warnings()[o.Key()]; warning != nil {
		return warning.GetAnnotations()[snapshot.AnnotationRevision]
	}
	return ""
}

// latestWarnings maps objects to the latest events about them.
func latestWarnings(events []*unstructured.Unstructured) map[snapshot.Key]*unstructured.Unstructured {
	latest := map[snapshot.Key]*unstructured.Unstructured{}
	for _, e := range events {
		about := snapshot.NewKey(Text(e, "involvedObject", "kind"), Text(e, "involvedObject", "namespace"), Text(e, "involvedObject", "name"))
		if last := latest[about]; last == nil || timeOf(e) >= timeOf(last) {
			latest[about] = e
		}
	}
	return latest
}

// timeOf returns the time of an event. Both fields have a format that sorts by time.
func timeOf(event *unstructured.Unstructured) string {
	return cmp.Or(Text(event, "lastTimestamp"), Text(event, "eventTime"))
}

// put adds an object to the graph and its index.
func (g *Graph) put(o *Object) {
	g.Objects[o.Key()] = o
	if g.index.homes == nil {
		g.index.homes, g.index.sorted = map[home][]*Object{}, map[home]bool{}
	}
	h := home{o.Kind, o.Namespace}
	g.index.homes[h] = append(g.index.homes[h], o)
	g.index.sorted[h] = false
}

// Get returns an object, or nil if it does not exist.
func (g *Graph) Get(kind, namespace, name string) *Object {
	return g.Objects[snapshot.NewKey(kind, namespace, name)]
}

// Need returns an object. If it does not exist, Need adds an object without content, whose reason is Missing.
func (g *Graph) Need(kind, namespace, name string) *Object {
	if o := g.Get(kind, namespace, name); o != nil {
		return o
	}
	k := snapshot.NewKey(kind, namespace, name)
	o := &Object{Item: status.Item{
		Layer: g.Scope.layer(k), Kind: kind, Namespace: namespace, Name: name, Reason: status.ReasonMissing, Message: "it does not exist",
	}}
	g.put(o)
	return o
}

// All returns the objects of a kind in a namespace, sorted by name.
func (g *Graph) All(kind, namespace string) []*Object {
	h := home{kind, namespace}
	if !g.index.sorted[h] && g.index.homes != nil {
		// A caller may be iterating over the unsorted list, so the sorted one is a copy.
		g.index.homes[h] = slices.SortedFunc(slices.Values(g.index.homes[h]), func(a, b *Object) int { return strings.Compare(a.Name, b.Name) })
		g.index.sorted[h] = true
	}
	return slices.Clip(g.index.homes[h])
}

// Of returns the objects of a kind in all namespaces, sorted by namespace and name.
func (g *Graph) Of(kind string) []*Object {
	var list []*Object
	for h, objects := range g.index.homes {
		if h.kind == kind {
			list = append(list, objects...)
		}
	}
	slices.SortFunc(list, func(a, b *Object) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return list
}

// Kinds of sources that source-controller fetches.
const (
	GitRepository = "GitRepository"
	OCIRepository = "OCIRepository"
	Bucket        = "Bucket"
)

// SourceKinds are the kinds of sources that source-controller fetches.
var SourceKinds = []string{GitRepository, OCIRepository, Bucket}

package status

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// index finds related objects of a world. A team may have hundreds of Stacks, and a scan of all objects for each Stack
// takes seconds. The index computes each part on first use.
//
// A part that depends on the content of objects never becomes stale, because objects that are added later have no
// content.
type index struct {
	// homes maps a kind and a namespace to the objects. The objects of a home in sorted are sorted by name.
	homes  map[home][]*object
	sorted map[home]bool
	// inventories maps a Kustomization to the objects that it has applied. appliers is the inverse.
	inventories map[*object][]key
	appliers    map[key][]*object
	// makers maps Secrets and ConfigMaps to the Stacks that create them.
	makers map[key]*object
	// owners maps pods to their workloads. pods is the inverse.
	owners map[*object]*object
	pods   map[*object][]*object
	// needers maps an object to the first unready object that refers to it.
	needers map[*object]*object
}

type home struct{ kind, namespace string }

// put adds an object.
func (w *world) put(o *object) {
	w.objects[o.key()] = o
	if w.index.homes == nil {
		w.index.homes, w.index.sorted = map[home][]*object{}, map[home]bool{}
	}
	h := home{o.Kind, o.Namespace}
	w.index.homes[h] = append(w.index.homes[h], o)
	w.index.sorted[h] = false
}

// all returns the objects of a kind in a namespace, sorted by name.
func (w *world) all(kind, namespace string) []*object {
	h := home{kind, namespace}
	if !w.index.sorted[h] && w.index.homes != nil {
		// A caller may be iterating over the unsorted list, so the sorted one is a copy.
		w.index.homes[h] = slices.SortedFunc(slices.Values(w.index.homes[h]), func(a, b *object) int { return strings.Compare(a.Name, b.Name) })
		w.index.sorted[h] = true
	}
	return slices.Clip(w.index.homes[h])
}

// of returns the objects of a kind in all namespaces, sorted by namespace and name.
func (w *world) of(kind string) []*object {
	var list []*object
	for h, objects := range w.index.homes {
		if h.kind == kind {
			list = append(list, objects...)
		}
	}
	slices.SortFunc(list, func(a, b *object) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return list
}

func (w *world) appliers() map[key][]*object {
	if w.index.appliers == nil {
		w.index.appliers = map[key][]*object{}
		for _, o := range w.of("Kustomization") {
			for _, applied := range w.inventory(o) {
				w.index.appliers[applied] = append(w.index.appliers[applied], o)
			}
		}
	}
	return w.index.appliers
}

func (w *world) makers() map[key]*object {
	if w.index.makers == nil {
		w.index.makers = map[key]*object{}
		for _, stack := range w.of("Stack") {
			program := w.get("Program", stack.Namespace, stack.text("spec", "programRef", "name"))
			for _, made := range madeBy(program) {
				if w.index.makers[made] == nil {
					w.index.makers[made] = stack
				}
			}
		}
	}
	return w.index.makers
}

// madeBy returns the Secrets and ConfigMaps that a Program declares.
func madeBy(program *object) []key {
	if program == nil || program.content == nil {
		return nil
	}
	var list []key
	resources, _, _ := unstructured.NestedMap(program.content.Object, "program", "resources")
	for _, each := range resources {
		r, ok := each.(map[string]any)
		if !ok {
			continue
		}
		for _, kind := range []string{"Secret", "ConfigMap"} {
			if name := at(r, "properties", "metadata", "name"); name != "" && strings.HasSuffix(at(r, "type"), ":"+kind) {
				list = append(list, key{kind, program.Namespace, name})
			}
		}
	}
	return list
}

func (w *world) ownPods() {
	if w.index.owners != nil {
		return
	}
	w.index.owners, w.index.pods = map[*object]*object{}, map[*object][]*object{}
	for _, pod := range w.of("Pod") {
		if owner := w.findOwner(pod); owner != nil {
			w.index.owners[pod] = owner
			w.index.pods[owner] = append(w.index.pods[owner], pod)
		}
	}
}

// needers returns the index's needers. Every object must have its state before the first call.
func (w *world) needers() map[*object]*object {
	if w.index.needers == nil {
		w.index.needers = map[*object]*object{}
		for _, each := range w.shown() {
			if each.Ready || each.content == nil {
				continue
			}
			for _, needed := range w.needs(each) {
				if needed != nil && needed != each && w.index.needers[needed] == nil {
					w.index.needers[needed] = each
				}
			}
		}
	}
	return w.index.needers
}

// needs returns the objects that the rules for an object's kind lead to.
func (w *world) needs(o *object) []*object {
	var list []*object
	for _, r := range rules() {
		if slices.Contains(r.kinds, o.Kind) {
			list = append(list, r.look(w, o)...)
		}
	}
	return list
}

// searched is how many bytes at the beginning of a message are searched for texts of Flux, the operator and the API
// server.
const searched = 8 << 10

// said returns the beginning of an object's message.
func (o *object) said() string { return o.Message[:min(len(o.Message), searched)] }

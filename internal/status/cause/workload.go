package cause

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status/graph"
)

func workloadRules() []rule {
	return []rule{
		{graph.Workloads, "a workload is ready when its pods are", func(g *graph.Graph, o *graph.Object) []*graph.Object { return g.PodsOf(o) }},
		{[]string{"Pod"}, "a pod reads Secrets and ConfigMaps", mounted},
		{[]string{"Pod"}, "a pod waits for its volumes", func(g *graph.Graph, o *graph.Object) []*graph.Object {
			var list []*graph.Object
			for _, v := range o.Members("spec", "volumes") {
				if name := graph.At(v, "persistentVolumeClaim", "claimName"); name != "" {
					list = append(list, g.Need("PersistentVolumeClaim", o.Namespace, name))
				}
			}
			return list
		}},
		{[]string{"Pod"}, "a pod runs as an account", func(g *graph.Graph, o *graph.Object) []*graph.Object {
			if name := o.Text("spec", "serviceAccountName"); name != "" {
				return []*graph.Object{g.Need("ServiceAccount", o.Namespace, name)}
			}
			return nil
		}},
	}
}

// mounted returns the Secrets and ConfigMaps that a pod needs to start.
func mounted(g *graph.Graph, o *graph.Object) []*graph.Object {
	var list []*graph.Object
	// add adds an object that a reference names, unless the reference is optional.
	add := func(kind string, ref map[string]any, name string) {
		if optional, _, _ := unstructured.NestedBool(ref, "optional"); name != "" && !optional {
			list = append(list, g.Need(kind, o.Namespace, name))
		}
	}
	// inner returns a nested map, or nil.
	inner := func(m map[string]any, field string) map[string]any {
		found, _, _ := unstructured.NestedMap(m, field)
		return found
	}
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range o.Members("spec", field) {
			for _, e := range graph.ObjectsOf(unstructured.NestedSlice(c, "env")) {
				from := inner(e, "valueFrom")
				add("Secret", inner(from, "secretKeyRef"), graph.At(from, "secretKeyRef", "name"))
				add("ConfigMap", inner(from, "configMapKeyRef"), graph.At(from, "configMapKeyRef", "name"))
			}
			for _, e := range graph.ObjectsOf(unstructured.NestedSlice(c, "envFrom")) {
				add("Secret", inner(e, "secretRef"), graph.At(e, "secretRef", "name"))
				add("ConfigMap", inner(e, "configMapRef"), graph.At(e, "configMapRef", "name"))
			}
		}
	}
	for _, v := range o.Members("spec", "volumes") {
		add("Secret", inner(v, "secret"), graph.At(v, "secret", "secretName"))
		add("ConfigMap", inner(v, "configMap"), graph.At(v, "configMap", "name"))
	}
	return list
}

package status

import (
	"bufio"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// change changes the objects of a healthy platform, by key.
type change func(t *testing.T, objects map[key]*unstructured.Unstructured)

// healthy returns the objects of a platform on one machine that was ready, shortened.
func healthy(t *testing.T) map[key]*unstructured.Unstructured {
	t.Helper()
	file, err := os.Open("testdata/healthy.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	objects := map[key]*unstructured.Unstructured{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(lines.Bytes()); err != nil {
			t.Fatal(err)
		}
		objects[key{o.GetKind(), o.GetNamespace(), o.GetName()}] = o
	}
	for role := range platform.ClusterRoles() {
		put(objects, key{"ClusterRole", "", role})
	}
	put(objects, key{"ClusterRoleBinding", "", platform.RolePlatform})
	put(objects, key{"ValidatingAdmissionPolicy", "", platform.HopGuard})
	put(objects, key{"ValidatingAdmissionPolicyBinding", "", platform.HopGuard})
	for _, name := range []string{FluxNamespace, platform.PlatformNamespace, platform.OperatorNamespace, "team-web"} {
		put(objects, key{"Namespace", "", name})
	}
	// The recording omits the cluster-scoped objects that Flux applied, so add them.
	for _, o := range slices.Collect(maps.Values(objects)) {
		for _, k := range (&world{}).inventory(&object{content: o}) {
			if k.namespace == "" && objects[k] == nil {
				put(objects, k)
			}
		}
	}
	return objects
}

// put adds an object with only a name.
func put(objects map[key]*unstructured.Unstructured, k key) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetKind(k.kind)
	o.SetNamespace(k.namespace)
	o.SetName(k.name)
	objects[k] = o
	return o
}

var web = teams.Team{Name: "web", Branch: "main", Path: "./", May: []string{"workloads", "stacks"}}

// reportOf returns the report of a healthy platform with changes. warnings maps objects to their latest warnings, in the
// form "reason: message".
func reportOf(t *testing.T, warnings map[key]string, changes ...change) Report {
	t.Helper()
	w := worldOf(t, warnings, changes...)
	w.judge()
	return w.report()
}

func worldOf(t *testing.T, warnings map[key]string, changes ...change) *world {
	t.Helper()
	objects := healthy(t)
	for _, c := range changes {
		c(t, objects)
	}
	return worldWith(objects, warnings)
}

func worldWith(objects map[key]*unstructured.Unstructured, warnings map[key]string) *world {
	w := &world{
		scope:   Scope{Teams: []teams.Team{web}, Engineer: "ada", Below: []Item{{Layer: LayerBootstrap, Kind: "Cluster", Name: "strata", Ready: true}}},
		objects: map[key]*object{}, served: map[string]bool{},
		events: func(o *object) (string, string) {
			reason, message, _ := strings.Cut(warnings[o.key()], ": ")
			return reason, message
		},
	}
	for _, k := range kinds {
		w.served[k.name] = true
	}
	for k, o := range objects {
		w.add(k.kind, o)
	}
	return w
}

// gone deletes an object.
func gone(kind, namespace, name string) change {
	return func(t *testing.T, objects map[key]*unstructured.Unstructured) {
		t.Helper()
		k := key{kind, namespace, name}
		if objects[k] == nil {
			t.Fatalf("there is no %v", k)
		}
		delete(objects, k)
	}
}

// says sets a condition of an object.
func says(kind, namespace, name, condition, state, reason, message string) change {
	return with(kind, namespace, name, func(o *unstructured.Unstructured) {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		var kept []any
		for _, c := range list {
			if m, ok := c.(map[string]any); !ok || m["type"] != condition {
				kept = append(kept, c)
			}
		}
		kept = append(kept, map[string]any{"type": condition, "status": state, "reason": reason, "message": message})
		_ = unstructured.SetNestedSlice(o.Object, kept, "status", "conditions")
	})
}

// set sets a field of an object.
func set(kind, namespace, name string, value any, path ...string) change {
	return with(kind, namespace, name, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, value, path...)
	})
}

// with changes an object, and creates it if it does not exist.
func with(kind, namespace, name string, f func(*unstructured.Unstructured)) change {
	return func(_ *testing.T, objects map[key]*unstructured.Unstructured) {
		k := key{kind, namespace, name}
		o := objects[k]
		if o == nil {
			o = put(objects, k)
		}
		f(o)
	}
}

// has adds an object from JSON.
func has(text string) change {
	return func(t *testing.T, objects map[key]*unstructured.Unstructured) {
		t.Helper()
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		objects[key{o.GetKind(), o.GetNamespace(), o.GetName()}] = o
	}
}

// failed makes the sync of team web fail at a commit, with the conditions that Flux sets.
func failed(reason, message string) change {
	return func(t *testing.T, objects map[key]*unstructured.Unstructured) {
		t.Helper()
		says("Kustomization", "team-web", "web", "Ready", "False", reason, message)(t, objects)
		set("GitRepository", "team-web", "web", "main@sha1:ffff0000ffff0000", "status", "artifact", "revision")(t, objects)
	}
}

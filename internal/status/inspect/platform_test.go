package inspect

import (
	"bufio"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// change changes the objects of a healthy platform, by key.
type change func(t *testing.T, objects map[snapshot.Key]*unstructured.Unstructured)

// healthy returns the objects of a platform on one machine that was ready, shortened.
func healthy(t *testing.T) map[snapshot.Key]*unstructured.Unstructured {
	t.Helper()
	file, err := os.Open("testdata/healthy.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	objects := map[snapshot.Key]*unstructured.Unstructured{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(lines.Bytes()); err != nil {
			t.Fatal(err)
		}
		objects[snapshot.NewKey(o.GetKind(), o.GetNamespace(), o.GetName())] = o
	}
	for role := range platform.ClusterRoles() {
		put(objects, snapshot.NewKey("ClusterRole", "", role))
	}
	put(objects, snapshot.NewKey("ClusterRoleBinding", "", platform.RolePlatform))
	put(objects, snapshot.NewKey("ValidatingAdmissionPolicy", "", platform.HopGuard))
	put(objects, snapshot.NewKey("ValidatingAdmissionPolicyBinding", "", platform.HopGuard))
	for _, name := range []string{graph.FluxNamespace, platform.PlatformNamespace, platform.OperatorNamespace, "team-web"} {
		put(objects, snapshot.NewKey("Namespace", "", name))
	}
	// The recording omits the cluster-scoped objects that Flux applied, so add them.
	for _, o := range slices.Collect(maps.Values(objects)) {
		for _, k := range (&graph.Graph{}).Inventory(&graph.Object{Content: o}) {
			if k.Namespace == "" && objects[k] == nil {
				put(objects, k)
			}
		}
	}
	return objects
}

// put adds an object with only a name.
func put(objects map[snapshot.Key]*unstructured.Unstructured, k snapshot.Key) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetKind(k.Kind)
	o.SetNamespace(k.Namespace)
	o.SetName(k.Name)
	objects[k] = o
	return o
}

var web = teams.Team{Name: "web", Branch: "main", Path: "./", May: []string{"workloads", "stacks"}}

// reportOf returns the report of a healthy platform with changes. warnings maps objects, such as "Stack team-web/shop", to
// their latest warnings, in the form "reason: message".
func reportOf(t *testing.T, warnings map[string]string, changes ...change) status.Report {
	t.Helper()
	return reportOn(snapshotOf(t, warnings, changes...), scopeOfAda)
}

func reportOn(s *snapshot.Snapshot, scope graph.Scope) status.Report {
	report, _ := Of(s, scope)
	return report
}

var scopeOfAda = graph.Scope{
	Teams: []teams.Team{web}, Engineer: "ada", Kubectl: `kubectl --kubeconfig "$(strata kubeconfig)"`,
	Below: []status.Item{{Layer: status.LayerBootstrap, Kind: "Cluster", Name: "strata", Ready: true}},
}

// snapshotOf returns the snapshot of a healthy platform with changes.
func snapshotOf(t *testing.T, warnings map[string]string, changes ...change) *snapshot.Snapshot {
	t.Helper()
	objects := healthy(t)
	for _, c := range changes {
		c(t, objects)
	}
	return snapshotWith(objects, warnings)
}

// warnedRevision is the revision in all warnings of snapshotWith.
const warnedRevision = "main@sha1:eeee0000eeee0000"

func snapshotWith(objects map[snapshot.Key]*unstructured.Unstructured, warnings map[string]string) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Objects: map[string][]*unstructured.Unstructured{}, Served: map[string]bool{}}
	for _, k := range snapshot.Kinds {
		s.Served[k.Name] = true
	}
	for k, o := range objects {
		s.Objects[k.Kind] = append(s.Objects[k.Kind], o)
	}
	s.Warnings = func() []*unstructured.Unstructured {
		var events []*unstructured.Unstructured
		for about, warning := range warnings {
			kind, name, _ := strings.Cut(about, " ")
			namespace, name, _ := strings.Cut(name, "/")
			reason, message, _ := strings.Cut(warning, ": ")
			event := &unstructured.Unstructured{Object: map[string]any{
				"involvedObject": map[string]any{"kind": kind, "namespace": namespace, "name": name}, "reason": reason, "message": message,
			}}
			event.SetAnnotations(map[string]string{snapshot.AnnotationRevision: warnedRevision})
			events = append(events, event)
		}
		return events
	}
	return s
}

// gone deletes an object.
func gone(kind, namespace, name string) change {
	return func(t *testing.T, objects map[snapshot.Key]*unstructured.Unstructured) {
		t.Helper()
		k := snapshot.NewKey(kind, namespace, name)
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
	return func(_ *testing.T, objects map[snapshot.Key]*unstructured.Unstructured) {
		k := snapshot.NewKey(kind, namespace, name)
		o := objects[k]
		if o == nil {
			o = put(objects, k)
		}
		f(o)
	}
}

// has adds an object from JSON.
func has(text string) change {
	return func(t *testing.T, objects map[snapshot.Key]*unstructured.Unstructured) {
		t.Helper()
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		objects[snapshot.NewKey(o.GetKind(), o.GetNamespace(), o.GetName())] = o
	}
}

// failed makes the sync of team web fail at a commit, with the conditions that Flux sets.
func failed(reason, message string) change {
	return func(t *testing.T, objects map[snapshot.Key]*unstructured.Unstructured) {
		t.Helper()
		says("Kustomization", "team-web", "web", "Ready", "False", reason, message)(t, objects)
		set("GitRepository", "team-web", "web", "main@sha1:ffff0000ffff0000", "status", "artifact", "revision")(t, objects)
	}
}

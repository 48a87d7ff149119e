package teamadmin

import (
	"cmp"
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/inspect"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/teams"
)

// testTarget is a target with a cluster. The tests call no other method of lifecycle.Target.
type testTarget struct {
	lifecycle.Target
	// file is the path of teams.yaml. made says that layer 2 ran, and stopped why its cluster cannot be read.
	file    string
	made    bool
	stopped string
	config  *rest.Config
	// locked is the error of Lock, and broken the error of EnsureRepository.
	locked, broken error
}

func (t *testTarget) About() lifecycle.About {
	return lifecycle.About{TeamsFile: cmp.Or(t.file, "teams.yaml"), Call: func(words string) string { return "strata " + words }}
}
func (*testTarget) GoogleProject() string                                { return "acme" }
func (t *testTarget) Stopped(context.Context) (string, error)            { return t.stopped, nil }
func (t *testTarget) Made(string) bool                                   { return t.made }
func (t *testTarget) Exists() bool                                       { return t.made }
func (t *testTarget) Lock() (func(), error)                              { return func() {}, t.locked }
func (t *testTarget) Teams() ([]teams.Team, error)                       { return []teams.Team{{Name: "web"}}, nil }
func (t *testTarget) Tenants() ([]teams.Team, error)                     { return t.Teams() }
func (t *testTarget) Config(context.Context, bool) (*rest.Config, error) { return t.config, nil }

var shop = teams.Team{Name: "shop", Allow: []string{"random:*"}}

// objects are the objects of a cluster by their names in messages; those of the team have no namespace in front.
type objects map[string]*unstructured.Unstructured

// shopObjects returns the objects of a platform with team shop: its hop, and a Stack. All of them are ready.
func shopObjects() objects {
	all := objects{}
	for _, k := range (graph.Scope{}).Required() {
		all.put(k.Kind, k.Namespace, k.Name)
		name := status.Item{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}.Ref()
		all.ready(name, "True", "Succeeded", "done", 1)
		if k.Kind == "Deployment" {
			all[name].Object["status"] = map[string]any{
				"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
				"conditions": []any{map[string]any{"type": "Available", "status": "True"}},
			}
		}
	}
	for _, k := range graph.HopOf(shop) {
		all.put(k.Kind, k.Namespace, k.Name)
	}
	all["Namespace team-shop"].SetLabels(map[string]string{hop.TeamLabel: "shop"})
	all["ServiceAccount shop"].SetLabels(map[string]string{hop.Label: "shop"})
	all.set("TenantPolicy strata", []any{"random:*"}, "spec", "types")
	all.set("GitRepository shop", "http://git/shop.git", "spec", "url")
	all.set("GitRepository shop", "main@sha1:1111", "status", "artifact", "revision")
	all.set("Kustomization shop", map[string]any{"kind": "GitRepository", "name": "shop"}, "spec", "sourceRef")
	all.set("Kustomization shop", "main@sha1:1111", "status", "lastAppliedRevision")
	all.put("Stack", "team-shop", "infra")
	all.set("Stack infra", "shop", "spec", "serviceAccountName")
	for _, name := range []string{"GitRepository shop", "Kustomization shop", "Stack infra"} {
		all.ready(name, "True", "Succeeded", "done", 1)
	}
	return all
}

func (all objects) put(kind, namespace, name string) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetGeneration(1)
	if namespace == "team-shop" {
		namespace = ""
	}
	all[status.Item{Kind: kind, Namespace: namespace, Name: name}.Ref()] = o
}

func (all objects) set(name string, value any, path ...string) {
	if err := unstructured.SetNestedField(all[name].Object, value, path...); err != nil {
		panic(err)
	}
}

func (all objects) ready(name, state, reason, message string, observed int64) {
	all.set(name, []any{map[string]any{"type": "Ready", "status": state, "reason": reason, "message": message, "observedGeneration": observed}}, "status", "conditions")
}

// see returns the report on the objects, and the rest of what List reads.
func (all objects) see(list ...teams.Team) cluster {
	s := &snapshot.Snapshot{
		Objects: map[string][]*unstructured.Unstructured{}, Served: map[string]bool{}, Warnings: func() []*unstructured.Unstructured { return nil },
	}
	for _, k := range snapshot.Kinds {
		s.Served[k.Name] = true
	}
	for _, o := range all {
		s.Objects[o.GetKind()] = append(s.Objects[o.GetKind()], o)
	}
	report, g := inspect.Of(s, graph.Scope{Teams: list})
	cpu := corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("2")}
	return cluster{report: report, graph: g, quotas: []corev1.ResourceQuota{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "team-shop"}, Spec: corev1.ResourceQuotaSpec{Hard: cpu}, Status: corev1.ResourceQuotaStatus{Used: cpu}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web"}, Spec: corev1.ResourceQuotaSpec{Hard: cpu}},
	}}
}

// itemsOf returns the items of team shop in a report.
func itemsOf(report status.Report) []status.Item {
	return slices.DeleteFunc(slices.Clone(report.Items), func(i status.Item) bool {
		return i.Namespace != "team-shop" && (i.Kind != "Namespace" || i.Name != "team-shop")
	})
}

func TestListAndStatusAgreeOn(t *testing.T) {
	for name, test := range map[string]struct {
		change         func(objects)
		state, message string
	}{
		"a ready team": {change: func(objects) {}, state: Ready},
		"a suspended sync": {
			change: func(all objects) { all.set("Kustomization shop", true, "spec", "suspend") },
			state:  NotReady, message: "sync shop: it is suspended: Flux does not apply pushes",
		},
		"a sync whose condition is about an older generation": {
			change: func(all objects) { all["Kustomization shop"].SetGeneration(2) },
			state:  NotReady, message: "sync shop: its controller has not observed the latest change yet",
		},
		"a Stack whose condition is about an older generation": {
			change: func(all objects) { all["Stack infra"].SetGeneration(2) },
			state:  NotReady, message: "Stack infra: its controller has not observed the latest change yet",
		},
		"a GitRepository that is not ready": {
			change: func(all objects) { all.ready("GitRepository shop", "False", "GitOperationFailed", "no such branch", 1) },
			state:  NotReady, message: "GitRepository shop: no such branch",
		},
		"a commit that is not applied": {
			change: func(all objects) {
				all.set("GitRepository shop", "main@sha1:2222", "status", "artifact", "revision")
			},
			state: NotReady, message: "sync shop: the latest commit, main@2222, is not applied yet",
		},
		"a sync that somebody deleted": {
			change: func(all objects) { delete(all, "Kustomization shop") },
			state:  NotReady, message: "sync shop: ",
		},
		"a pod that is not ready": {
			change: func(all objects) {
				all.put("Pod", "team-shop", "web")
				all.set("Pod web", "Pending", "status", "phase")
			},
			state: NotReady, message: "Pod web: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := shopObjects()
			test.change(all)
			seen := all.see(shop)
			list, err := New(&testTarget{}).list([]teams.Team{shop}, []teams.Team{shop}, seen)
			if err != nil || len(list.Teams) != 1 {
				t.Fatalf("the list is %+v, error %v", list, err)
			}
			got := list.Teams[0]
			if got.State != test.state || len(got.Message) < len(test.message) || got.Message[:len(test.message)] != test.message || test.message == "" && got.Message != "" {
				t.Errorf("the team is %q: %q, want %q: %q", got.State, got.Message, test.state, test.message)
			}
			if len(got.Syncs) != 1 || len(got.Stacks) != 1 {
				t.Fatalf("the team is %+v", got)
			}
			items := itemsOf(seen.report)
			if ready := !slices.ContainsFunc(items, func(i status.Item) bool { return !i.Ready }); ready != (got.State == Ready) {
				t.Errorf("the list says %q, and the items of the status are %+v", got.State, items)
			}
			for _, i := range items {
				switch i.Kind {
				case "Kustomization":
					if want := (Sync{Name: i.Name, Ready: i.Ready, Reason: i.Reason, Message: i.Message, Revision: got.Syncs[0].Revision}); got.Syncs[0] != want {
						t.Errorf("the syncs are %+v, and the status has %+v", got.Syncs, i)
					}
				case "Stack":
					if want := (Stack{Name: i.Name, Account: "shop", Ready: i.Ready, Reason: i.Reason, Message: i.Message}); got.Stacks[0] != want {
						t.Errorf("the Stacks are %+v, and the status has %+v", got.Stacks, i)
					}
				}
			}
		})
	}
}

func TestAListHasTheTeamsOfTheFileAndOfTheCluster(t *testing.T) {
	all := shopObjects()
	seen := all.see(shop)
	declared := []teams.Team{{Name: "web"}, shop}
	list, err := New(&testTarget{}).list(declared, declared, seen)
	if err != nil || len(list.Teams) != 2 {
		t.Fatalf("the list is %+v, error %v", list, err)
	}
	if web := list.Teams[0]; web.State != NotCreated || web.Message != "run `strata up`" || web.GoogleAccount != "team-web@acme.iam.gserviceaccount.com" {
		t.Errorf("the new team is %+v", web)
	}
	if s := list.Teams[1]; !slices.Equal(s.Accounts, []string{"shop"}) || s.Repository != "http://git/shop.git" || s.Syncs[0].Revision != "main@sha1:1111" ||
		!slices.Equal(s.Quota, []Quota{{Resource: "requests.cpu", Used: "2", Hard: "2"}}) {
		t.Errorf("the created team is %+v", s)
	}
	list, err = New(&testTarget{}).list(nil, nil, all.see())
	if err != nil || len(list.Teams) != 1 {
		t.Fatalf("the list is %+v, error %v", list, err)
	}
	if s := list.Teams[0]; s.State != Removed || s.Message != "no longer in teams.yaml: run `strata up` to remove it" || len(s.Stacks) != 1 || !slices.Equal(s.Allow, []string{"random:*"}) {
		t.Errorf("the removed team is %+v", s)
	}
}

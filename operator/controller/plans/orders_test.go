package plans_test

import (
	"reflect"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/long"
)

func order(name, spec string) string {
	return "apiVersion: catalogue.strata.dev/v1\nkind: Database\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
}

// TestAPlanShowsTheOrdersThatTheCommitChanges plans commits that delete, change and add orders, and change no Stack: without the orders,
// such a Plan would say that nothing happens.
func TestAPlanShowsTheOrdersThatTheCommitChanges(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	tm := newTeam(t, c, "orders")
	tm.start(t, &runner{})
	tm.plan(t, "not-offered", plan.Spec{Sync: "sync", Manifests: order("shop", "onDelete: delete")})
	if got := tm.complete(t, "not-offered").Status; got.Phase != plan.Failed || !strings.Contains(got.Stacks[0].Message, "the platform offers no Database, which the order shop needs") {
		t.Errorf("the Plan of an order that nobody offers is %+v", got)
	}

	entry, err := catalogue.In("../../../catalogue").Load("database")
	if err != nil {
		t.Fatal(err)
	}
	definition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(entry.Definition())
	if err != nil {
		t.Fatal(err)
	}
	c.create(t, &unstructured.Unstructured{Object: definition})
	roles := platform.CatalogueRoles([]*catalogue.Entry{entry})
	c.create(t,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "operator-orders"}, Rules: roles[platform.RoleOperator]},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: platform.RoleTeamOrders}, Rules: roles[platform.RoleTeamOrders]},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "operator-orders"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "operator-orders"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: platform.OperatorNamespace, Name: platform.OperatorAccount}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: tm.namespace, Name: "orders"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: platform.RoleTeamOrders},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: tm.namespace, Name: "orders"}},
		},
	)
	eventually(t, "served", func() error { return tm.try(t, order("x", "")) })
	tm.apply(t, order("same", "onDelete: delete")+"---\n"+order("gone", "onDelete: delete")+"---\n"+order("stays", "")+"---\n"+order("risky", ""))

	tm.plan(t, "first", plan.Spec{Sync: "sync", Manifests: manifests(order("same", "onDelete: delete"), order("risky", "onDelete: delete"), order("fresh", ""))})
	got := tm.complete(t, "first").Status
	const database = "kubernetes:catalogue.strata.dev/v1:Database"
	want := []plan.Stack{{
		Name: plan.Orders, Changes: map[string]int{"create": 1, "update": 1, "delete": 2, "same": 1},
		Message: "their Stacks belong to the platform: the plan shows the orders only, and nobody approves by this Plan what the Stacks do; the resources of stays stay, because spec.onDelete is keep",
		Steps: []plan.Step{
			{Op: "delete", Name: "gone", Type: database, LosesData: true}, {Op: "delete", Name: "stays", Type: database},
			{Op: "create", Name: "fresh", Type: database},
			{Op: "update", Name: "risky", Type: database, Fields: []plan.Field{{Path: "spec.onDelete", Before: `"keep"`, After: `"delete"`}}},
		},
	}}
	if got.Phase != plan.Ready || !reflect.DeepEqual(got.Stacks, want) {
		t.Errorf("the Plan is %s %q %+v\nwant %+v", got.Phase, got.Message, got.Stacks, want)
	}

	tm.plan(t, "second", plan.Spec{Sync: "sync", Manifests: manifests(order("same", "onDelete: delete"), order("risky", "onDelete: never"), order("gone", "onDelete: delete"), order("stays", ""))})
	if got := tm.complete(t, "second").Status; got.Phase != plan.Failed || !strings.Contains(got.Stacks[0].Message, `the API server would refuse Database risky: `) {
		t.Errorf("the Plan of an order that the API server refuses is %+v", got)
	}
	tm.plan(t, "third", plan.Spec{Sync: "other", Manifests: manifests(order("same", "onDelete: delete"))})
	if got := tm.complete(t, "third").Status; got.Phase != plan.Ready || len(got.Stacks) != 0 {
		t.Errorf("the Plan of another Kustomization deletes orders: %+v", got)
	}
}

// TestAPlanSaysWhatItDoesNotSee plans a commit that changes no Stack: the program of one Stack is a folder of the repository, and may be
// another one after the merge.
func TestAPlanSaysWhatItDoesNotSee(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "unseen")
	tm.start(t, &runner{})
	from := func(name, source string) string {
		return "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: " + name + "}\nspec: {fluxSource: {sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: " + source + "}, dir: infra}}\n"
	}
	own, other := from("own", "unseen"), from("other", "library")
	tm.apply(t, own+"---\n"+other)
	tm.plan(t, "first", plan.Spec{Sync: "sync", Manifests: manifests(own, other)})
	got := tm.complete(t, "first").Status
	if len(got.Stacks) != 1 || got.Phase != plan.Ready {
		t.Fatalf("the Plan is %+v", got)
	}
	if s := got.Stacks[0]; s.Name != "own" || !s.Unseen || s.Content != "" || !strings.HasPrefix(s.Message, "its program comes from a repository") {
		t.Errorf("the entry is %+v", s)
	}
	tm.plan(t, "second", plan.Spec{Sync: "sync", Manifests: manifests(strings.Replace(own, "infra", "more", 1), other)})
	if got := tm.complete(t, "second").Status; got.Phase != plan.Ready || len(got.Stacks) != 1 || !got.Stacks[0].Unseen {
		t.Errorf("the Plan of another folder is %+v", got)
	}
}

package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/long"
)

// claims is a Program with a resource that holds data: a volume claim.
const claims = `apiVersion: pulumi.com/v1
kind: Program
metadata: {name: shop}
program:
  configuration: {colour: {type: String}, size: {type: Number}}
  resources:
    orders:
      type: kubernetes:core/v1:PersistentVolumeClaim
      properties:
        metadata: {name: orders, annotations: {pulumi.com/skipAwait: "true", pulumi.com/deletionPropagationPolicy: background}}
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
    settings:
      type: kubernetes:core/v1:ConfigMap
      properties: {metadata: {name: settings, annotations: {pulumi.com/deletionPropagationPolicy: background}}, data: {colour: "${colour}"}}
`

const tenantPolicy = "{team: web, contact: platform@example.com, context: {name: context}, accounts: [web]}"

// replaced is claims with another name of the claim, which replaces it.
var replaced = strings.Replace(claims, "metadata: {name: orders,", "metadata: {name: other,", 1)

// claimed returns the names of the team's volume claims.
func (tm *team) claimed(t *testing.T) string {
	t.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := tm.List(t.Context(), &list, client.InNamespace(tm.namespace)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, each := range list.Items {
		names = append(names, each.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// awaits waits until a Stack waits for an approval with a message.
func (tm *team) awaits(t *testing.T, name string, words ...string) *v1.Stack {
	t.Helper()
	return tm.await(t, name, "waiting for an approval: "+strings.Join(words, ", "), func(s *v1.Stack) bool {
		c := condition(s, v1.StalledCondition)
		return c.Reason == v1.StalledAwaitingApprovalReason && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(c.Message, word) })
	})
}

func (tm *team) plan(t *testing.T, name string) *plan.Plan {
	t.Helper()
	object := planned.Object(types.NamespacedName{Namespace: tm.namespace, Name: name})
	if err := tm.Get(t.Context(), client.ObjectKeyFromObject(object), object); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	found, err := plan.From(object)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// approve creates an Approval of a Plan, after a change.
func (tm *team) approve(t *testing.T, of *plan.Plan, change ...func(*approval.Approval)) {
	t.Helper()
	a := &approval.Approval{Spec: approval.Spec{By: "alice@example.com", Plan: &approval.Plan{Name: of.Name, UID: of.UID, Digest: of.Status.Digest}}}
	a.Namespace, a.GenerateName = tm.namespace, "by-alice-"
	for _, each := range change {
		each(a)
	}
	object, err := a.Object()
	if err != nil {
		t.Fatal(err)
	}
	tm.create(t, object)
}

// guarded returns a team with a policy and a Stack that holds data.
func guarded(t *testing.T, c *cluster, policy string) *team {
	t.Helper()
	tm := newTeam(t, c)
	tm.policy(t, policy)
	tm.apply(t, &v1.Program{}, claims)
	tm.apply(t, &v1.Stack{}, stack)
	got := tm.await(t, "shop-dev", "Ready", ready)
	if got.Status.Approval != nil || tm.plan(t, "stack.shop-dev") != nil {
		t.Fatalf("the first update has asked for an approval: %+v", got.Status.Approval)
	}
	return tm
}

func TestALossOfDataWaitsForAnApproval(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := guarded(t, c, tenantPolicy)
	before := tm.await(t, "shop-dev", "Ready", ready).Status.LastUpdate

	tm.apply(t, &v1.Program{}, replaced)
	const want = `up would replace kubernetes:core/v1:PersistentVolumeClaim "orders" (its data is lost); to approve it: strata approve stack.shop-dev --team web`
	got := tm.awaits(t, "shop-dev", want)
	checkKstatus(t, got, "Failed")
	shown := tm.plan(t, "stack.shop-dev")
	a := got.Status.Approval
	if shown == nil || a == nil || a.Plan != shown.Name || a.Digest != shown.Status.Digest || a.By != "" || a.Message != want || a.Time.IsZero() {
		t.Fatalf("the status says %+v of the Plan %+v", a, shown)
	}
	if shown.Spec.Stack != "shop-dev" || shown.Status.Phase != plan.Ready || len(shown.Status.Stacks) != 1 || len(shown.Status.Stacks[0].Steps) != 1 || shown.Status.Stacks[0].State == "" {
		t.Errorf("the Plan is %+v", shown)
	}
	if got.Status.LastUpdate.Name != before.Name || got.Status.CurrentUpdate != nil || tm.claimed(t) != "orders" {
		t.Errorf("the wait has changed the claims %s, the last update %+v or the current one %+v", tm.claimed(t), got.Status.LastUpdate, got.Status.CurrentUpdate)
	}

	// A revert needs nothing.
	tm.apply(t, &v1.Program{}, claims)
	got = tm.await(t, "shop-dev", "Ready", ready)
	if got.Status.Approval != nil || tm.plan(t, "stack.shop-dev") != nil {
		t.Errorf("after the revert, the status says %+v, and the Plan stays", got.Status.Approval)
	}

	tm.apply(t, &v1.Program{}, replaced)
	tm.awaits(t, "shop-dev")
	approved := tm.plan(t, "stack.shop-dev")
	tm.approve(t, approved)
	got = tm.await(t, "shop-dev", "Ready", ready)
	if a := got.Status.Approval; a == nil || a.By != "alice@example.com" || a.Plan != "stack.shop-dev" || a.Digest != approved.Status.Digest || a.Message != "" {
		t.Errorf("the status of the approved update says %+v", a)
	}
	if tm.claimed(t) != "other" || tm.plan(t, "stack.shop-dev") != nil {
		t.Errorf("the claims are %s, and the Plan is %v", tm.claimed(t), tm.plan(t, "stack.shop-dev"))
	}

	// The approval was for one state.
	tm.apply(t, &v1.Program{}, claims)
	tm.awaits(t, "shop-dev", "strata approve")
	tm.approve(t, tm.plan(t, "stack.shop-dev"))
	tm.await(t, "shop-dev", "Ready", ready)
	tm.apply(t, &v1.Program{}, replaced)
	tm.awaits(t, "shop-dev")
	if tm.claimed(t) != "orders" {
		t.Errorf("the first approval has covered a second replacement: %s", tm.claimed(t))
	}
}

func TestAnApprovalOfAnotherResultDoesNotCount(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := guarded(t, c, tenantPolicy)
	other := guarded(t, c, tenantPolicy)
	tm.apply(t, &v1.Program{}, strings.Replace(claims, "name: shop", "name: store", 1))
	tm.apply(t, &v1.Stack{}, strings.NewReplacer("shop-dev", "store", "{name: shop}", "{name: store}").Replace(stack))
	tm.await(t, "store", "failed: the objects belong to the other Stack", func(s *v1.Stack) bool { return s.Status.LastUpdate != nil })

	// The team has made the Plan of its Stack itself.
	mine := &plan.Plan{Spec: plan.Spec{Stack: "shop-dev"}}
	mine.Namespace, mine.Name = tm.namespace, "stack.shop-dev"
	object, err := mine.Object()
	if err != nil {
		t.Fatal(err)
	}
	tm.create(t, object)
	for _, each := range []*team{tm, other} {
		each.apply(t, &v1.Program{}, replaced)
		each.awaits(t, "shop-dev", "to approve it")
	}
	shown := tm.plan(t, "stack.shop-dev")
	if shown == nil || shown.UID == object.GetUID() || shown.Status.Digest == "" {
		t.Fatalf("the team's own Plan is still there: %+v", shown)
	}
	for name, change := range map[string]func(*approval.Approval){
		"another digest":      func(a *approval.Approval) { a.Spec.Plan.Digest = "sha256:" + strings.Repeat("0", 64) },
		"another-uid":         func(a *approval.Approval) { a.Spec.Plan.UID = object.GetUID() },
		"another name":        func(a *approval.Approval) { a.Spec.Plan.Name = "stack.store" },
		"the destroy":         func(a *approval.Approval) { a.Spec = destroys("shop-dev", tm.stackUID(t, "shop-dev")) },
		"another's namespace": func(a *approval.Approval) { *a.Spec.Plan = approvalOf(other.plan(t, "stack.shop-dev")) },
	} {
		tm.approve(t, shown, func(a *approval.Approval) {
			a.Name, a.GenerateName = strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", ""), ""
		}, change)
	}
	tm.awaits(t, "shop-dev", "the approval of Plan stack.shop-dev by alice@example.com does not cover it: the Plan has changed since")

	// The approved program is not that of the run.
	tm.approve(t, shown)
	tm.await(t, "shop-dev", "Ready", ready)
	if other.claimed(t) != "orders" {
		t.Error("the approval in one namespace has covered a run in another")
	}
	tm.apply(t, &v1.Program{}, claims)
	tm.awaits(t, "shop-dev")
	first := tm.plan(t, "stack.shop-dev")
	tm.apply(t, &v1.Program{}, strings.Replace(claims, "    settings:\n", "    changed:\n", 1))
	tm.await(t, "shop-dev", "waiting with another Plan", func(s *v1.Stack) bool {
		return condition(s, v1.StalledCondition).Reason == v1.StalledAwaitingApprovalReason && s.Status.Approval.Digest != first.Status.Digest
	})
	tm.approve(t, first)
	tm.awaits(t, "shop-dev", "the Plan has changed since")
	if tm.claimed(t) != "other" {
		t.Errorf("the claims are %s", tm.claimed(t))
	}
}

func approvalOf(p *plan.Plan) approval.Plan {
	return approval.Plan{Name: p.Name, UID: p.UID, Digest: p.Status.Digest}
}

func destroys(name string, uid types.UID) approval.Spec {
	return approval.Spec{By: "admin", Destroy: []approval.Stack{{Name: name, UID: uid}}}
}

func (tm *team) stackUID(t *testing.T, name string) types.UID {
	t.Helper()
	s := &v1.Stack{}
	if err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: name}, s); err != nil {
		t.Fatal(err)
	}
	return s.UID
}

func TestADestroyWaitsForAnApproval(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	for name, approves := range map[string]func(*team, *v1.Stack){
		"of the Plan": func(tm *team, _ *v1.Stack) { tm.approve(t, tm.plan(t, "stack.shop-dev")) },
		"of the Stack": func(tm *team, s *v1.Stack) {
			tm.approve(t, &plan.Plan{}, func(a *approval.Approval) { a.Spec = destroys(s.Name, s.UID) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			tm := guarded(t, c, tenantPolicy)
			// Flux prunes objects in any order.
			tm.remove(t, &v1.Program{ObjectMeta: tm.meta("shop")}, &v1.Stack{ObjectMeta: tm.meta("shop-dev")})
			got := tm.await(t, "shop-dev", "waiting", func(s *v1.Stack) bool {
				return s != nil && condition(s, v1.StalledCondition).Reason == v1.StalledAwaitingApprovalReason
			})
			if message := condition(got, v1.StalledCondition).Message; !strings.HasPrefix(message, `destroy would delete kubernetes:core/v1:PersistentVolumeClaim "orders" (its data is lost)`) {
				t.Errorf("message %q", message)
			}
			wrong := destroys("shop-dev", "another")
			tm.approve(t, &plan.Plan{}, func(a *approval.Approval) { a.Spec = wrong })
			tm.approve(t, &plan.Plan{}, func(a *approval.Approval) { a.Spec = destroys("other", got.UID) })
			if tm.claimed(t) != "orders" {
				t.Fatal("the claim is gone")
			}
			approves(tm, got)
			tm.await(t, "shop-dev", "gone", gone)
			if tm.claimed(t) != "" {
				t.Errorf("the claims %s stay", tm.claimed(t))
			}
		})
	}
}

func TestAnApprovalOfTheStackNeedsNoWait(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := guarded(t, c, tenantPolicy)
	got := &v1.Stack{}
	if err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: "shop-dev"}, got); err != nil {
		t.Fatal(err)
	}
	tm.approve(t, &plan.Plan{}, func(a *approval.Approval) { a.Spec = destroys("shop-dev", got.UID) })
	tm.remove(t, got)
	tm.await(t, "shop-dev", "gone, without a wait", func(s *v1.Stack) bool {
		if s != nil && s.Status.Approval != nil {
			t.Fatalf("the Stack waits: %+v", s.Status.Approval)
		}
		return s == nil
	})
	if tm.plan(t, "stack.shop-dev") != nil {
		t.Error("the operator has planned a destroy that is approved")
	}
}

func TestAStackCanDemandApprovalOfEveryChange(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.policy(t, strings.TrimSuffix(tenantPolicy, "}")+", approval: never}")
	always := strings.Replace(stack, "{name: shop-dev}", "{name: shop-dev, annotations: {strata.dev/approval: always}}", 1)
	tm.apply(t, &v1.Program{}, claims)
	tm.apply(t, &v1.Stack{}, always)
	tm.awaits(t, "shop-dev", "up would create", "and make 1 more changes")
	if tm.claimed(t) != "" {
		t.Fatal("the claim exists already")
	}
	tm.approve(t, tm.plan(t, "stack.shop-dev"))
	tm.await(t, "shop-dev", "Ready", ready)

	// One commit withdraws the demand and deletes the data.
	tm.apply(t, &v1.Program{}, replaced)
	tm.apply(t, &v1.Stack{}, strings.Replace(stack, "red", "blue", 1))
	tm.awaits(t, "shop-dev", "up would replace", "and make 1 more changes")
	tm.apply(t, &v1.Stack{}, strings.Replace(stack, "red", "blue", 1)+"  preview: true\n")
	tm.await(t, "shop-dev", "previewed", func(s *v1.Stack) bool { return ready(s) && s.Status.LastUpdate.Type == v1.PreviewType })
	tm.apply(t, &v1.Stack{}, strings.Replace(stack, "red", "green", 1))
	tm.awaits(t, "shop-dev", "up would replace")
	tm.approve(t, tm.plan(t, "stack.shop-dev"))
	got := tm.await(t, "shop-dev", "Ready", ready)
	if got.Status.LastUpdate.Approval != "" || tm.claimed(t) != "other" {
		t.Errorf("after the approved update, the demand is %q and the claims are %s", got.Status.LastUpdate.Approval, tm.claimed(t))
	}
	// The policy of the team asks for nothing.
	tm.apply(t, &v1.Program{}, claims)
	tm.await(t, "shop-dev", "Ready", func(s *v1.Stack) bool { return ready(s) && tm.claimed(t) == "orders" })
}

func TestAnotherPolicyWakesAWaitingStack(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := guarded(t, c, tenantPolicy)
	tm.apply(t, &v1.Program{}, replaced)
	tm.awaits(t, "shop-dev")
	tm.policy(t, strings.TrimSuffix(tenantPolicy, "}")+", approval: never}")
	tm.await(t, "shop-dev", "Ready", ready)
	if tm.claimed(t) != "other" {
		t.Errorf("the claims are %s", tm.claimed(t))
	}
	tm.policy(t, strings.TrimSuffix(tenantPolicy, "}")+", approval: always}")
	tm.apply(t, &v1.Stack{}, strings.Replace(stack, "red", "blue", 1))
	tm.awaits(t, "shop-dev", "up would replace kubernetes:core/v1:ConfigMap")
	tm.approve(t, tm.plan(t, "stack.shop-dev"))
	tm.await(t, "shop-dev", "Ready", ready)
}

// A Plan of a branch that was approved before the merge lets the merged commit pass at once.
func TestAnApprovalBeforeTheMergeCoversTheCommit(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := guarded(t, c, tenantPolicy)
	c.create(t, &corev1.ServiceAccount{ObjectMeta: tm.meta(plan.Account)})
	branch := &plan.Plan{Spec: plan.Spec{Branch: "new", Commit: strings.Repeat("0", 40), Account: "web", Manifests: replaced + "---\napiVersion: pulumi.com/v1\nkind: Stack" + stack}}
	branch.Namespace, branch.Name = tm.namespace, "new-0123456789"
	object, err := branch.Object()
	if err != nil {
		t.Fatal(err)
	}
	tm.create(t, object)
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		branch = tm.plan(t, branch.Name)
		return branch.Status.Completed != nil, nil
	})
	if err != nil {
		t.Fatalf("the Plan is not complete: %+v", branch.Status)
	}
	if branch.Status.Phase != plan.Ready {
		t.Fatalf("the Plan is %+v", branch.Status)
	}
	tm.approve(t, branch)
	tm.apply(t, &v1.Program{}, replaced)
	got := tm.await(t, "shop-dev", "Ready without a wait", func(s *v1.Stack) bool {
		if s.Status.Approval != nil && s.Status.Approval.By == "" {
			content, _ := json.Marshal(tm.plan(t, "stack.shop-dev").Status)
			mine, _ := json.Marshal(branch.Status)
			t.Fatalf("the Stack waits: %+v\n%s\n%s", s.Status.Approval, content, mine)
		}
		return ready(s) && tm.claimed(t) == "other"
	})
	if a := got.Status.Approval; a == nil || a.Plan != branch.Name || a.By != "alice@example.com" {
		t.Errorf("the status says %+v", a)
	}
}

func TestOnlyOneRunAsks(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	stop := startOperator(t, c)
	tm := guarded(t, c, tenantPolicy)
	tm.apply(t, &v1.Program{}, replaced)
	waiting := tm.awaits(t, "shop-dev")
	shown := tm.plan(t, "stack.shop-dev")
	for i := range 3 {
		tm.approve(t, shown, func(a *approval.Approval) {
			a.Name, a.GenerateName, a.Spec.Plan.Name = fmt.Sprintf("wake-%d", i), "", "none"
		})
	}
	stop()
	// The next operator asks once more, and keeps the Plan and so its approvals.
	tm.approve(t, shown)
	startOperator(t, c)
	got := tm.await(t, "shop-dev", "Ready", ready)
	if got.Status.Approval == nil || got.Status.Approval.Digest != waiting.Status.Approval.Digest {
		t.Errorf("the status says %+v", got.Status.Approval)
	}
}

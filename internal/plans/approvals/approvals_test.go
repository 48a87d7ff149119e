package approvals_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/plans/approvals"
	"github.com/strata-platform/strata/internal/plans/planstest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/long"
)

var (
	ofBranch = plan.Spec{Branch: "feature", Commit: strings.Repeat("0", 40), Account: "web", Manifests: "{}"}
	loss     = plan.Step{Op: "delete", Name: "orders", Type: "gcp:sql/database:Database", LosesData: true}
	update   = plan.Step{Op: "update", Name: "auth", Type: "kubernetes:core/v1:Secret"}
)

// digest returns the digest of a test's plan.
func digest(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// ready is the result of a Plan with one Stack. Like the operator's, it needs an approval if it loses data.
func ready(hex, stack string, steps ...plan.Step) plan.Status {
	of := plan.Stack{Name: stack, State: digest("5"), Steps: steps}
	if slices.ContainsFunc(steps, func(s plan.Step) bool { return s.LosesData }) {
		of.Approval = approval.Data
	}
	return plan.Status{Phase: plan.Ready, Digest: digest(hex), Stacks: []plan.Stack{of}}
}

// asks is the status of a Stack that waits for an approval of a Plan.
func asks(hex, message string) v1.StackStatus {
	s := v1.StackStatus{Approval: &v1.StackApproval{Plan: "stack.shop", Digest: digest(hex), Message: message, Time: metav1.Now()}}
	s.MarkStalled(v1.StalledAwaitingApprovalReason, message)
	return s
}

func client(t *testing.T, config *rest.Config) *approvals.Client {
	t.Helper()
	c, err := approvals.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAPlanIsApproved(t *testing.T) {
	long.Test(t)
	cluster := planstest.Start(t)
	dba, ada, admin := client(t, cluster.Approver), client(t, cluster.Team), client(t, cluster.Admin)
	const namespace = planstest.Namespace
	t.Run("only by users with the right", func(t *testing.T) {
		p := cluster.Plan(t, "feature-1", ofBranch, ready("1", "shop", loss))
		if err := dba.May(t.Context(), namespace); err != nil {
			t.Error(err)
		}
		want := "ada may not approve Plans in namespace team-web: ask somebody who may, or the platform team, which grants the right in teams.yaml: approval.by of team web names users and groups, such as ada"
		if err := ada.May(t.Context(), namespace); err == nil || err.Error() != want {
			t.Errorf("the team: %v", err)
		}
		if _, err := ada.Approve(t.Context(), p); err == nil || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("the team approves: %v", err)
		}
		elsewhere := rest.CopyConfig(cluster.Admin)
		elsewhere.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:team-web:web", Groups: []string{"system:authenticated"}}
		if _, _, err := client(t, elsewhere).Find(t.Context(), namespace, "feature-1"); err == nil || !strings.HasSuffix(err.Error(), "such as team, which stands for the team's own accounts") {
			t.Errorf("the team's account: %v", err)
		}
		if state, err := ada.StateOf(t.Context(), p); err != nil || !state.Waits() {
			t.Errorf("the state is %+v, %v", state, err)
		}
	})
	t.Run("with name, UID, digest, and the API server's name of the user", func(t *testing.T) {
		p, state, err := dba.Find(t.Context(), namespace, "feature-1")
		if err != nil || !state.Waits() {
			t.Fatalf("%+v, %v", state, err)
		}
		a, err := dba.Approve(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if a.Name != "feature-1" || a.Spec.By != "dba" || a.Spec.Plan.UID != p.UID || a.Spec.Plan.Digest != digest("1") || len(a.OwnerReferences) != 1 || a.OwnerReferences[0].UID != p.UID {
			t.Errorf("the Approval is %+v", a)
		}
		if _, state, err = admin.Find(t.Context(), namespace, "feature-1"); err != nil || state.By != "dba" || state.Waits() || state.Time == nil {
			t.Errorf("the state is %+v, %v", state, err)
		}
	})
	t.Run("once for each result", func(t *testing.T) {
		old, err := plans.NewClient(cluster.Admin)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := old.Get(t.Context(), namespace, "feature-1")
		if err != nil {
			t.Fatal(err)
		}
		now := cluster.Plan(t, "feature-1", ofBranch, ready("2", "shop", loss))
		if state, err := dba.StateOf(t.Context(), now); err != nil || !state.Waits() {
			t.Errorf("the state of another Plan of the name is %+v, %v", state, err)
		}
		if _, err := dba.Approve(t.Context(), seen); err == nil || !strings.Contains(err.Error(), "has changed while you read it") {
			t.Errorf("an earlier result: %v", err)
		}
		a, err := dba.Approve(t.Context(), now)
		if err != nil || !strings.HasPrefix(a.Name, "feature-1-") || a.Spec.Plan.Digest != digest("2") {
			t.Errorf("beside an old Approval: %+v, %v", a, err)
		}
	})
	t.Run("not without a result", func(t *testing.T) {
		cluster.Plan(t, "new", ofBranch, plan.Status{})
		cluster.Plan(t, "failed", ofBranch, plan.Status{Phase: plan.Failed})
		cluster.Plan(t, "empty", ofBranch, plan.Status{Phase: plan.Ready, Digest: digest("3")})
		cluster.Plan(t, "stack.shop", plan.Spec{Stack: "shop"}, ready("4", "shop", update))
		for name, want := range map[string]string{
			"new":    "cannot be approved yet: it has no result (waits for the operator)",
			"failed": "cannot be approved: not all of its Stacks can be planned",
			"empty":  "needs no approval: its commit changes no Stack",
			"none":   `there is no Plan "none" in namespace team-web: these wait for an approval: stack.shop`,
		} {
			if _, _, err := dba.Find(t.Context(), namespace, name); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("and stays when the Git server deletes the Plans of its branch", func(t *testing.T) {
		server, err := plans.NewClient(cluster.Admin)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plans.New(plans.Commit{Branch: "merged", ID: strings.Repeat("1", 40)}, plans.Sync{Namespace: namespace, Name: "web", Source: "web", Account: "web"}, trial.Manifests{})
		if err != nil {
			t.Fatal(err)
		}
		p.Spec.Manifests = ofBranch.Manifests
		if p, err = server.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		p = cluster.Complete(t, p, ready("6", "shop", loss))
		if _, err := dba.Approve(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if count, err := server.DeleteBranches(t.Context(), namespace, []string{"merged"}); err != nil || count != 0 {
			t.Errorf("%d Plans are deleted, %v", count, err)
		}
		if err := server.Trim(t.Context(), namespace, 0); err != nil {
			t.Fatal(err)
		}
		if left := cluster.Plans(t); len(left) != 1 || left[0].Name != "stack.shop" {
			t.Errorf("%d Plans are left", len(left))
		}
	})
}

func TestAnApprovalIsNeededFor(t *testing.T) {
	long.Test(t)
	cluster := planstest.Start(t)
	admin := client(t, cluster.Admin)
	always := ready("1", "strict", update)
	always.Stacks[0].Approval = approval.Always
	never := ready("1", "shop", loss)
	never.Stacks[0].Approval = ""
	for name, tc := range map[string]struct {
		spec   plan.Spec
		status plan.Status
		want   bool
	}{
		"a loss of data":                              {ofBranch, ready("1", "shop", update, loss), true},
		"no other change":                             {ofBranch, ready("1", "shop", update), false},
		"every change of a Stack that demands it":     {ofBranch, always, true},
		"no loss that the platform does not guard":    {ofBranch, never, false},
		"each Plan of a Stack":                        {plan.Spec{Stack: "shop"}, ready("1", "shop", update), true},
		"no Plan that the operator has not completed": {plan.Spec{Stack: "shop"}, plan.Status{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := cluster.Plan(t, "x", tc.spec, tc.status)
			if state, err := admin.StateOf(t.Context(), p); err != nil || state.Needed != tc.want {
				t.Errorf("%+v, %v", state, err)
			}
		})
	}
}

func TestAWaitEndsWithTheResult(t *testing.T) {
	long.Test(t)
	cluster := planstest.Start(t)
	dba := client(t, cluster.Approver)
	applied := v1.StackStatus{Approval: &v1.StackApproval{Plan: "stack.shop", Digest: digest("1"), By: "dba", Time: metav1.Now()}}
	applied.MarkReady("applied")
	elsewhere := v1.StackStatus{Approval: &v1.StackApproval{Plan: "stack.shop", Digest: digest("2"), By: "dba", Time: metav1.Now()}}
	elsewhere.MarkReady("applied")
	reverted, failed, runs := v1.StackStatus{ObservedGeneration: 1}, v1.StackStatus{}, v1.StackStatus{}
	reverted.MarkReady("applied")
	failed.MarkStalled(v1.StalledUpdateFailedReason, "the name is taken")
	runs.MarkReconciling(v1.ReconcilingProcessingReason, "it runs")
	ofStack := plan.Spec{Stack: "shop"}
	for name, tc := range map[string]struct {
		spec plan.Spec
		// after are the states of the Stack after the approval, one for each time that the wait says what it waits for.
		after []v1.StackStatus
		gone  bool
		want  string // the error, or empty
	}{
		"the Stack is applied":                            {spec: ofStack, after: []v1.StackStatus{runs, applied}},
		"the Stack is applied after the merge":            {spec: ofBranch, after: []v1.StackStatus{runs, elsewhere, applied}},
		"the Stack is destroyed":                          {spec: ofStack, gone: true},
		"the Stack needs no approval any more":            {spec: ofStack, after: []v1.StackStatus{runs, reverted}},
		"another result waits":                            {spec: ofStack, after: []v1.StackStatus{runs, asks("3", "the state has changed")}, want: "Stack team-web/shop is not applied: it waits for an approval of Plan stack.shop: the state has changed"},
		"the run fails":                                   {spec: ofStack, after: []v1.StackStatus{runs, failed}, want: "Stack team-web/shop is not applied: UpdateFailed: the name is taken"},
		"the Stack is not applied in time":                {spec: ofStack, after: []v1.StackStatus{runs}, want: "the approval is given, but Stack team-web/shop is not applied yet (shop: it runs): time is up; `strata status` shows the Stack later"},
		"the operator does not look at the Stack in time": {spec: ofStack, want: "the approval is given, but Stack team-web/shop is not applied yet (shop: waits for the operator): time is up; `strata status` shows the Stack later"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster.Stack(t, "shop", asks("1", "up would delete it"))
			p := cluster.Plan(t, "stack.shop", tc.spec, ready("1", "shop", loss))
			before, err := dba.Before(t.Context(), p, approvals.State{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, errors.New("the test hangs"))
			defer cancel()
			ctx, end := context.WithCancelCause(ctx)
			step := 0
			err = dba.Wait(ctx, p, before, func(string) {
				switch {
				case tc.gone:
					cluster.DeleteStack(t, "shop")
				case step < len(tc.after):
					cluster.Stack(t, "shop", tc.after[step])
				default:
					end(errors.New("time is up"))
				}
				step++
			})
			end(nil)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("the wait ends with %q", got)
			}
		})
	}
}

// TestAWaitIsAboutWhatTheApprovalCovers waits for a Plan of a branch that also changes a Stack which needs no approval, and an order.
func TestAWaitIsAboutWhatTheApprovalCovers(t *testing.T) {
	long.Test(t)
	cluster := planstest.Start(t)
	dba := client(t, cluster.Approver)
	status := ready("1", "shop", loss)
	status.Stacks = append(status.Stacks, plan.Stack{Name: "other", Steps: []plan.Step{update}}, plan.Stack{Name: plan.Orders})
	applied := v1.StackStatus{Approval: &v1.StackApproval{Plan: "x", Digest: digest("1"), By: "dba", Time: metav1.Now()}}
	applied.MarkReady("applied")
	cluster.Stack(t, "shop", applied)
	p := cluster.Plan(t, "x", ofBranch, status)
	before, err := dba.Before(t.Context(), p, approvals.State{})
	if err != nil || len(before) != 1 {
		t.Fatalf("the wait looks at %v, %v", before, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := dba.Wait(ctx, p, before, func(string) {}); err != nil {
		t.Errorf("the wait ends with %v", err)
	}
}

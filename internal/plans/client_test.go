package plans_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/plans/planstest"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/long"
)

func planned(t *testing.T, branch string, n int) *plan.Plan {
	t.Helper()
	p, err := plans.New(plans.Commit{Branch: branch, ID: fmt.Sprintf("%010x%030d", n, 0)}, plans.Sync{Namespace: planstest.Namespace, Name: "web", Source: "web", Account: "web"}, trial.Manifests{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlansAreKeptInTheCluster(t *testing.T) {
	long.Test(t)
	cluster := planstest.Start(t)
	team, err := plans.NewClient(cluster.Team)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := plans.NewClient(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("only Kustomizations of the team's source are its syncs", func(t *testing.T) {
		if _, err := team.Syncs(t.Context(), planstest.Namespace, "web"); err == nil || !strings.Contains(err.Error(), `applies a source "web"`) {
			t.Errorf("without a Kustomization: %v", err)
		}
		cluster.Sync(t, "web", "./app")
		cluster.Sync(t, "infra", "./infra")
		syncs, err := team.Syncs(t.Context(), planstest.Namespace, "web")
		if err != nil || len(syncs) != 2 || syncs[0].Name != "infra" || syncs[1].Account != "web" || syncs[1].Spec["path"] != "./app" {
			t.Errorf("%+v, %v", syncs, err)
		}
		if other, err := team.Syncs(t.Context(), planstest.Namespace, "other"); err == nil {
			t.Errorf("%+v", other)
		}
	})
	t.Run("a second Plan of a commit replaces the first", func(t *testing.T) {
		first, err := team.Create(t.Context(), planned(t, "feature", 1))
		if err != nil {
			t.Fatal(err)
		}
		second, err := team.Create(t.Context(), planned(t, "feature", 1))
		if err != nil || second.Name != first.Name || second.UID == first.UID {
			t.Errorf("%+v, %v", second, err)
		}
		if _, err := team.Follow(t.Context(), first, func(string) {}); err == nil || !strings.Contains(err.Error(), "another Plan has taken the place of") {
			t.Errorf("the first: %v", err)
		}
	})
	t.Run("a Plan is followed to its result", func(t *testing.T) {
		ctx, stop := context.WithTimeoutCause(t.Context(), time.Second, errors.New("a second has passed"))
		defer stop()
		p, err := team.Create(t.Context(), planned(t, "feature", 2))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := team.Follow(ctx, p, func(string) {}); err == nil || !strings.Contains(err.Error(), "(waits for the operator): a second has passed") {
			t.Errorf("without an operator: %v", err)
		}
		cluster.Operate(t, func(p *plan.Plan) []plan.Status {
			return []plan.Status{{Phase: plan.Running, Message: "waits for a slot"}, {Phase: plan.Ready, Stacks: []plan.Stack{{Name: p.Spec.Branch}}}}
		})
		var said []string
		if p, err = team.Follow(t.Context(), p, func(state string) { said = append(said, state) }); err != nil || p.Status.Stacks[0].Name != "feature" {
			t.Errorf("%+v, %v", p, err)
		}
		for _, state := range said {
			if state != "waits for the operator" && state != "waits for a slot" {
				t.Errorf("said %q", said)
			}
		}
	})
	t.Run("a deleted Plan ends its followers", func(t *testing.T) {
		p := planned(t, "gone", 3)
		p.UID = "x"
		if _, err := team.Follow(t.Context(), p, func(string) {}); err == nil || !strings.Contains(err.Error(), `there is no Plan "gone-0000000003"`) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a list has the newest Plan first and no manifests", func(t *testing.T) {
		for n := range 12 {
			p := planned(t, "many", 100+n)
			p.Name = fmt.Sprintf("many-%02d", n)
			p.Spec.Manifests = strings.Repeat("#", plans.MostManifests)
			if _, err := team.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		all, err := team.List(t.Context(), planstest.Namespace)
		if err != nil || len(all) != 14 || slices.ContainsFunc(all, func(p *plan.Plan) bool { return p.Spec.Manifests != "" }) ||
			!slices.IsSortedFunc(all, func(a, b *plan.Plan) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) }) {
			t.Errorf("%d Plans, %v", len(all), err)
		}
	})
	t.Run("the Plans of a deleted branch are deleted", func(t *testing.T) {
		if count, err := admin.DeleteBranches(t.Context(), planstest.Namespace, []string{"feature", "none"}); err != nil || count != 2 {
			t.Errorf("%d, %v", count, err)
		}
	})
	t.Run("the oldest Plans are deleted", func(t *testing.T) {
		if err := admin.Trim(t.Context(), planstest.Namespace, 5); err != nil {
			t.Fatal(err)
		}
		all := cluster.Plans(t)
		if len(all) != 5 || slices.ContainsFunc(all, func(p *plan.Plan) bool { return p.Spec.Branch != "many" }) {
			t.Errorf("%d Plans", len(all))
		}
	})
	t.Run("a cluster without the kind says so", func(t *testing.T) {
		if err := cluster.DeleteKind(t.Context()); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; {
			_, err := team.List(t.Context(), planstest.Namespace)
			if errors.Is(err, plans.ErrNoKind) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			<-time.After(50 * time.Millisecond)
		}
		_, got := team.Get(t.Context(), planstest.Namespace, "x")
		_, made := team.Create(t.Context(), planned(t, "feature", 1))
		_, deleted := admin.DeleteBranches(t.Context(), planstest.Namespace, []string{"x"})
		for _, err := range []error{got, made, deleted} {
			if !errors.Is(err, plans.ErrNoKind) {
				t.Errorf("%v", err)
			}
		}
	})
}

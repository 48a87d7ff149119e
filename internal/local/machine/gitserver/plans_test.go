package gitserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

// plans records the calls of a server.
type plans struct {
	sync.Mutex
	created []gitserver.Pushed
	// create and follow replace the answers if they are not nil.
	create func(context.Context) error
	follow func(context.Context) []string
}

func (p *plans) Create(ctx context.Context, pushed gitserver.Pushed) (string, error) {
	p.Lock()
	defer p.Unlock()
	if p.create != nil {
		if err := p.create(ctx); err != nil {
			return "", err
		}
	}
	p.created = append(p.created, pushed)
	return fmt.Sprintf("%s-%s", pushed.Sync.Name, pushed.Branch), nil
}

func (p *plans) Follow(ctx context.Context, _, name string, say func(string)) []string {
	say("it waits")
	if p.follow != nil {
		return p.follow(ctx)
	}
	return []string{"Plan " + name, "  + create a"}
}

func (p *plans) Delete(_ context.Context, _ string, branches []string) (int, error) {
	return len(branches), nil
}

func (p *plans) Command(_, name string) string { return "show " + name }

// planning returns a server with plans, and a clone whose branch main it applies.
func planning(t *testing.T, change func(*gitserver.Limits), names ...string) (*site, *plans, string) {
	t.Helper()
	s, p := newSite(t, change), &plans{}
	s.Plans = p
	s.Syncs = func(context.Context, string) (all []gitserver.Sync) {
		for _, name := range names {
			all = append(all, gitserver.Sync{Branch: "main", Spec: trial.Sync{"path": "./"}, Namespace: "team-web", Name: name, Source: "web", Account: "web"})
		}
		return all
	}
	work := clone(t)
	commit(t, work, "a.yaml", listed)
	must(t, work, "remote", "add", "origin", s.remote(t, "web", "web"))
	return s, p, work
}

func TestPlansOfAPushAreBounded(t *testing.T) {
	_, p, work := planning(t, func(l *gitserver.Limits) { l.Plans = 6 }, "web", "infra")
	var branches []string
	for n := range 8 {
		branches = append(branches, fmt.Sprintf("main:b%d", n))
	}
	got := must(t, work, append([]string{"push", "origin"}, branches...)...)
	if len(p.created) != 4 || !strings.Contains(got, "plan web-b0 shows what it would do: see it with `show web-b0`, or wait for it") || !strings.Contains(got, "plan infra-b1 shows") ||
		!strings.Contains(got, "6 more branches have no plan, because a push creates at most 4: `strata plan` creates others") {
		t.Errorf("%d plans; the answer is\n%s", len(p.created), got)
	}
	commit(t, work, "b.yaml", other)
	got = must(t, work, "push", "origin", "main:c1", "main:c2")
	if len(p.created) != 6 || !strings.Contains(got, "there is no plan of branch c2: the pushes of a repository create at most 6 plans in a minute; `strata plan` creates one") {
		t.Errorf("%d plans; the answer is\n%s", len(p.created), got)
	}
}

func TestOnlyBranchesThatFluxDoesNotApplyArePlanned(t *testing.T) {
	for name, tc := range map[string]struct {
		push []string
		want int
	}{
		"a branch":                        {[]string{"main:feature"}, 1},
		"the applied branch":              {[]string{"main"}, 0},
		"a tag":                           {[]string{"main:refs/tags/v1"}, 0},
		"another reference":               {[]string{"main:refs/notes/x"}, 0},
		"a branch beside the applied one": {[]string{"main", "main:feature"}, 1},
		"two branches at one commit":      {[]string{"main:x", "main:y"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			_, p, work := planning(t, nil, "web")
			must(t, work, append([]string{"push", "origin"}, tc.push...)...)
			if len(p.created) != tc.want {
				t.Errorf("plans of %+v", p.created)
			}
			for _, each := range p.created {
				if len(each.Built.Objects) != 1 || each.Repository != "web" || each.Commit != must(t, work, "rev-parse", "main") {
					t.Errorf("the plan is of %+v", each)
				}
			}
		})
	}
	t.Run("a repository without a Kustomization of its team", func(t *testing.T) {
		s, p, work := planning(t, nil)
		s.Syncs = func(context.Context, string) []gitserver.Sync {
			return []gitserver.Sync{{Branch: "main", Spec: trial.Sync{"path": "./"}}, {Branch: "main", Planned: true, Account: "web", Spec: trial.Sync{"path": "./"}}}
		}
		if got := must(t, work, "push", "origin", "main:feature"); len(p.created) != 0 || strings.Contains(got, "plan") {
			t.Errorf("the answer is\n%s", got)
		}
	})
}

func TestAPushWaitsForItsPlans(t *testing.T) {
	_, p, work := planning(t, nil, "web", "infra")
	got := remotes(must(t, work, "push", "-o", "wait", "origin", "main:feature"))
	const want = "plan web-feature shows what it would do: see it with `show web-feature`\nplan infra-feature shows what it would do: see it with `show infra-feature`\n" +
		"waiting for the plan, at most 5m0s; Ctrl-C ends the wait, but not the push\nit waits\nPlan web-feature\n  + create a\nit waits\nPlan infra-feature\n  + create a"
	if !strings.HasSuffix(got, want) {
		t.Errorf("the answer is\n%s", got)
	}
	p.follow = func(context.Context) []string { return append(make([]string, 99), "last \x1b[2J") }
	got = remotes(must(t, work, "push", "-o", "wait", "origin", "main:long"))
	if strings.Count(got, "\n") > 70 || !strings.HasSuffix(got, "more lines: `show infra-long` prints all") || strings.Contains(got, "\x1b") {
		t.Errorf("the answer is\n%s", got)
	}
}

func TestManyKustomizationsHaveFewPlans(t *testing.T) {
	_, p, work := planning(t, nil, "a", "b", "c", "d", "e", "f")
	commit(t, work, "s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: canary}\n")
	got := must(t, work, "push", "origin", "main:feature")
	if len(p.created) != 4 || !strings.Contains(got, "the other Kustomizations of branch feature have no plan") {
		t.Errorf("%d plans; the answer is\n%s", len(p.created), got)
	}
	for _, each := range p.created {
		if len(each.Built.Objects) != 1 || strings.Contains(string(each.Built.Objects[0].JSON), "Secret") {
			t.Errorf("the plan is of %s", each.Built.Objects)
		}
	}
}

func TestAFailedPlanDoesNotFailThePush(t *testing.T) {
	s, p, work := planning(t, func(l *gitserver.Limits) { l.Follow = 50 * time.Millisecond }, "web")
	p.create = func(context.Context) error { return errors.New("the API server says \x1b[2J no") }
	if got := must(t, work, "push", "-o", "wait", "origin", "main:feature"); !strings.Contains(got, `there is no plan of branch feature: the API server says \x1b[2J no`) || strings.Contains(got, "waiting") {
		t.Errorf("the answer is\n%s", got)
	}
	p.create, p.follow = nil, func(ctx context.Context) []string { <-ctx.Done(); return []string{"no result yet"} }
	if got := must(t, work, "push", "-o", "wait", "origin", "main:other"); !strings.Contains(got, "remote: no result yet") {
		t.Errorf("the answer is\n%s", got)
	}
	// The engineer's push is not rejected for a build that exceeds a limit.
	s.Limits.Trial.Objects = 0
	if got := must(t, work, "push", s.remote(t, "web", gitserver.Engineer), "main:engineer"); strings.Contains(got, "plan ") {
		t.Errorf("the answer is\n%s", got)
	}
}

func TestOnePushAtATimeCreatesPlans(t *testing.T) {
	_, p, work := planning(t, nil, "web")
	began, end := make(chan struct{}, 2), make(chan struct{})
	p.create = func(ctx context.Context) error {
		began <- struct{}{}
		select {
		case <-end:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var pushes sync.WaitGroup
	for _, branch := range []string{"a", "b"} {
		pushes.Go(func() {
			if out, err := git(work, "push", "origin", "main:"+branch); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	<-began
	select {
	case <-began:
		t.Error("two pushes create plans at once")
	case <-time.After(200 * time.Millisecond):
	}
	close(end)
	pushes.Wait()
	if len(p.created) != 2 {
		t.Errorf("plans of %+v", p.created)
	}
}

package planner_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/planner"
	"github.com/strata-platform/strata/internal/plans/planstest"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxtest.Main(m)
}

const secret = "a secret of the home"

// site is a Git server with the repository web, its clone, and the Plans of a cluster.
type site struct {
	*gitserver.Server
	cluster *planstest.Cluster
	url     string
	work    string
}

func newSite(t *testing.T, cluster *planstest.Cluster, admin func() *rest.Config) *site {
	t.Helper()
	server, err := gitserver.New(t.TempDir(), secret, log.New(t.Output(), "", 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	server.Plans = &planner.Planner{Admin: admin, Call: func(words string) string { return "strata " + words }}
	server.Syncs = func(context.Context, string) []gitserver.Sync {
		return []gitserver.Sync{
			{Branch: "main", Spec: trial.Sync{"path": "./", "targetNamespace": planstest.Namespace}, Namespace: planstest.Namespace, Name: "web", Source: "web", Account: "web"},
			// Another team may not fill its namespace, or this one, by naming this repository.
			{Branch: "main", Spec: trial.Sync{"path": "./"}, Namespace: "team-shop", Name: "web", Source: "web", Account: "shop"},
		}
	}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	if err := server.Create(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	s := &site{Server: server, cluster: cluster, url: web.URL, work: t.TempDir()}
	s.git(t, "init", "--quiet", "--initial-branch=main")
	s.commit(t, "a.yaml", stack("first"))
	s.push(t, "web", "main")
	return s
}

func stack(name string) string {
	return "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: " + name + "}\nspec: {programRef: {name: a}}\n---\n" +
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: canary}\n"
}

func (s *site) git(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = s.work
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *site) commit(t *testing.T, name, content string) (id string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.work, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	s.git(t, "add", ".")
	s.git(t, "commit", "--quiet", "--message=x")
	return s.git(t, "rev-parse", "HEAD")
}

// push pushes as an account, and returns what the server says.
func (s *site) push(t *testing.T, account string, args ...string) string {
	t.Helper()
	u, err := url.Parse(s.url + "/web.git")
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(account, gitserver.Password(secret, account))
	options := []string{"push", "--force"}
	for len(args) > 1 && args[0] == "-o" {
		options, args = append(options, args[:2]...), args[2:]
	}
	var lines []string
	for line := range strings.Lines(s.git(t, append(append(options, u.String()), args...)...)) {
		if said, ok := strings.CutPrefix(line, "remote: "); ok {
			lines = append(lines, strings.TrimRight(said, " \n"))
		}
	}
	return strings.Join(lines, "\n")
}

// names returns the names of the cluster's Plans.
func (s *site) names(t *testing.T) (names []string) {
	t.Helper()
	for _, p := range s.cluster.Plans(t) {
		names = append(names, p.Name)
	}
	return names
}

func TestAPushedBranchIsPlanned(t *testing.T) {
	long.Test(t)
	cluster := planstest.Start(t)
	s := newSite(t, cluster, func() *rest.Config { return cluster.Admin })
	cluster.Operate(t, func(*plan.Plan) []plan.Status {
		return []plan.Status{{Phase: plan.Running, Message: "waits for a \x1b[31mslot"}, {Phase: plan.Ready, Stacks: []plan.Stack{{
			Name: "second", Approval: "data", Changes: map[string]int{"create": 1, "replace": 1}, Steps: []plan.Step{
				{Op: "create", Name: "new\x1b[2J", Type: "t"}, {Op: "replace", Name: "db", Type: "gcp:sql/database:Database", LosesData: true},
			},
		}}}}
	})
	id := s.commit(t, "a.yaml", stack("second"))
	name := "feature-x-" + id[:10]
	const notApplied = "branch feature/x is not applied: Flux applies branch main; to apply the commit, push it to that branch\n"
	t.Run("the answer names the Plan", func(t *testing.T) {
		want := notApplied + "plan " + name + " shows what it would do: see it with `strata plan show " + name + " --team web`, or wait for it with `git push -o wait`"
		if got := s.push(t, "web", "HEAD:feature/x"); got != want {
			t.Errorf("the answer is\n%s\nwant\n%s", got, want)
		}
		all := cluster.Plans(t)
		if len(all) != 1 {
			t.Fatalf("Plans %q", s.names(t))
		}
		got := all[0].Spec
		if got.Branch != "feature/x" || got.Commit != id || got.Account != "web" || got.Sync != "web" || !got.Report || !strings.Contains(got.Manifests, "name: second") || !strings.Contains(got.Manifests, "namespace: team-web") {
			t.Errorf("the Plan is %+v", got)
		}
		if strings.Contains(got.Manifests, "canary") || strings.Contains(got.Manifests, "Secret") {
			t.Errorf("the Plan contains a Secret:\n%s", got.Manifests)
		}
	})
	t.Run("a waiting push prints the result", func(t *testing.T) {
		id := s.commit(t, "a.yaml", stack("other"))
		got := s.push(t, "web", "-o", "wait", "HEAD:other")
		for _, want := range []string{
			"waiting for the plan, at most 5m0s; Ctrl-C ends the wait, but not the push\n", "\nPlan other-" + id[:10] + ": commit " + id[:10] + " of branch other\n",
			"\nDATA LOSS: Stack second replaces db (gcp:sql/database:Database)\n",
			"\nThe operator waits for an approval before it does this: strata approve other-" + id[:10] + " --team web\n", "\nStack second: 1 create, 1 replace\n", "\n  ± replace db", "\n  + create new\\x1b[2J (t)",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in\n%s", want, got)
			}
		}
		if strings.Contains(got, "\x1b") {
			t.Errorf("the answer is not escaped: %q", got)
		}
	})
	t.Run("a branch that Flux applies has no Plan", func(t *testing.T) {
		before := s.names(t)
		if got := s.push(t, "web", "HEAD:main", "HEAD:refs/tags/v1"); strings.Contains(got, "plan") || !slices.Equal(s.names(t), before) {
			t.Errorf("Plans %q, the answer is\n%s", s.names(t), got)
		}
	})
	t.Run("a push of the engineer is planned", func(t *testing.T) {
		id := s.commit(t, "a.yaml", stack("third"))
		if got := s.push(t, "engineer", "HEAD:engineer"); !strings.Contains(got, "plan engineer-"+id[:10]+" shows") {
			t.Errorf("the answer is\n%s", got)
		}
	})
	t.Run("a commit that Flux cannot build has no Plan", func(t *testing.T) {
		s.commit(t, "kustomization.yaml", "resources: [none.yaml]")
		if got := s.push(t, "web", "HEAD:broken"); !strings.Contains(got, "there is no plan of branch broken: Flux cannot build the commit: kustomization.yaml lists none.yaml, which does not exist") || strings.Contains(got, "artifact-") {
			t.Errorf("the answer is\n%s", got)
		}
		s.git(t, "rm", "--quiet", "-f", "kustomization.yaml")
	})
	t.Run("the Plans of a deleted branch are deleted", func(t *testing.T) {
		if got := s.push(t, "web", ":feature/x"); got != "the plans of deleted branches are deleted: 1" || slices.Contains(s.names(t), name) {
			t.Errorf("Plans %q, the answer is\n%s", s.names(t), got)
		}
	})
	t.Run("old Plans make room", func(t *testing.T) {
		s.Limits.Plans = 100
		s.commit(t, "a.yaml", stack("fourth"))
		for n := range 8 {
			var refs []string
			for i := range 4 {
				refs = append(refs, fmt.Sprintf("HEAD:many-%d-%d", n, i))
			}
			s.push(t, "web", refs...)
		}
		if all := s.names(t); len(all) != 20 || slices.ContainsFunc(all, func(name string) bool { return !strings.HasPrefix(name, "many-") }) {
			t.Errorf("%d Plans: %q", len(all), all)
		}
	})
	t.Run("a platform without the kind has no Plans", func(t *testing.T) {
		if err := cluster.DeleteKind(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.commit(t, "a.yaml", stack("fifth"))
		if got := s.push(t, "web", "HEAD:late"); !strings.HasPrefix(got, "branch late is not applied") || strings.Contains(got, "\n") {
			t.Errorf("the answer is\n%s", got)
		}
	})
}

func TestAPushWithoutAClusterSaysThatThereIsNoPlan(t *testing.T) {
	s := newSite(t, nil, func() *rest.Config { return nil })
	if got := s.push(t, "web", "HEAD:feature"); !strings.HasSuffix(got, "\nthere is no plan of branch feature: the cluster does not run: `strata up` starts it") {
		t.Errorf("the answer is\n%s", got)
	}
	if got := s.push(t, "web", ":feature"); got != "" {
		t.Errorf("the answer to a deletion is\n%s", got)
	}
	unreachable := newSite(t, nil, func() *rest.Config { return &rest.Config{Host: "http://127.0.0.1:1"} })
	if got := unreachable.push(t, "web", "-o", "wait", "HEAD:feature"); !strings.Contains(got, "there is no plan of branch feature: ") || strings.Contains(got, "waiting") {
		t.Errorf("the answer without an API server is\n%s", got)
	}
	if _, err := (&planner.Planner{Admin: func() *rest.Config { return nil }}).Create(t.Context(), gitserver.Pushed{Repository: "web", Sync: gitserver.Sync{Namespace: "team-shop"}}); err != nil {
		t.Errorf("another team's namespace: %v", err)
	}
}

package teamadmin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/teams"
)

const twoTeams = "apiVersion: strata/v1\nkind: Teams\nteams:\n  - name: shop\n  - name: web\n"

// newTestTarget returns a target with layer 2, a teams.yaml, and a cluster that has one Stack, of team web.
func newTestTarget(t *testing.T) *testTarget {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/v1/namespaces":
			fmt.Fprint(w, `{"kind": "NamespaceList", "apiVersion": "v1", "items": []}`)
		case "/apis/pulumi.com/v1/stacks":
			fmt.Fprint(w, `{"kind": "StackList", "apiVersion": "pulumi.com/v1", "items": [
				{"kind": "Stack", "apiVersion": "pulumi.com/v1", "metadata": {"name": "infra", "namespace": "team-web"}, "spec": {}}]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(api.Close)
	file := filepath.Join(t.TempDir(), "teams.yaml")
	if err := os.WriteFile(file, []byte(twoTeams), 0o600); err != nil {
		t.Fatal(err)
	}
	return &testTarget{file: file, made: true, config: &rest.Config{Host: api.URL}}
}

func TestATeamIsRemovedOnlyWithoutStacks(t *testing.T) {
	for name, test := range map[string]struct {
		team   string
		change func(*testTarget)
		want   string
	}{
		"a team without Stacks": {team: "shop"},
		"a team without Stacks, if layer 2 never ran": {
			team: "web", change: func(target *testTarget) { target.made, target.stopped = false, "the cluster is Stopped" },
		},
		"a team with a Stack": {
			team: "web",
			want: "team web was not removed: the team still has Stacks or orders (team-web/infra): remove them from the team's repository, push, and run this again once `strata team list` shows none",
		},
		"a team of a stopped cluster": {
			team: "shop", change: func(target *testTarget) { target.stopped = "the cluster is Stopped" },
			want: "team shop was not removed: cannot list the team's Stacks: the cluster is Stopped: run `strata up` first",
		},
		"a team of a cluster that does not answer": {
			team: "shop", change: func(target *testTarget) { target.config.Host = "http://127.0.0.1:1" },
			want: "team shop was not removed: cannot list the team's Stacks: ",
		},
		"a team while another command runs": {
			team: "shop", change: func(target *testTarget) { target.locked = errors.New("another command runs") }, want: "another command runs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := newTestTarget(t)
			if test.change != nil {
				test.change(target)
			}
			change, err := New(target).Remove(t.Context(), test.team, false)
			if test.want == "" && (err != nil || !change.Kept || change.URL != "http://git/"+test.team || change.Next != "strata up") {
				t.Errorf("the result is %+v, error %v", change, err)
			}
			if test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
			after, err := os.ReadFile(target.file)
			if removed := !strings.Contains(string(after), test.team); err != nil || removed != (test.want == "") {
				t.Errorf("error %v; the file is\n%s", err, after)
			}
		})
	}
}

func TestATeamWithoutARepositoryStaysInTheFile(t *testing.T) {
	target := newTestTarget(t)
	target.broken = errors.New("no space")
	_, err := New(target).Add(t.Context(), teams.Team{Name: "blog"}, false)
	want := "team blog is in " + target.file + ", but it has no repository yet: no space: run `strata up`, which creates the repository too"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if after, err := os.ReadFile(target.file); err != nil || !strings.Contains(string(after), "- name: blog\n") {
		t.Errorf("error %v; the file is\n%s", err, after)
	}
	target.broken = nil
	change, err := New(target).Add(t.Context(), teams.Team{Name: "news"}, false)
	if err != nil || change.URL != "http://git/news" || change.Kept || !strings.Contains(change.Diff, "\n+  - name: news\n") {
		t.Errorf("the result is %+v, error %v", change, err)
	}
}

func (t *testTarget) EnsureRepository(_ context.Context, team string) (Repository, error) {
	return Repository{URL: "http://git/" + team}, t.broken
}

func (*testTarget) KeptRepository(_ context.Context, team string) Repository {
	return Repository{URL: "http://git/" + team, Kept: true}
}

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/follow"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/inspect"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/teams"
)

const (
	// followEvery is the interval between two looks at the cluster for a waiting push.
	followEvery = 500 * time.Millisecond
	// followPatience is how long a failure lasts before it is the result of a push. Flux retries every five seconds.
	followPatience = 20 * time.Second
)

// errNoCluster means that no cluster runs.
var errNoCluster = errors.New("the cluster does not run")

// follow returns the result of a push, for the Git server. Its report contains the platform and the team of the repository:
// a team must not learn anything about other teams.
func (s *supervisor) follow(ctx context.Context, repository, branch, commit string, say func(string)) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	found, err := s.findSyncs(ctx, repository)
	if err != nil {
		return fmt.Sprintf("cannot wait: %v", err)
	}
	revision := branch + "@sha1:" + commit
	scope := graph.Scope{Heads: map[string]string{}, Call: s.Home.Call}
	ready := fmt.Sprintf("everything is ready at %s", graph.ShortRevision(revision))
	team := teams.Team{Name: repository, Branch: branch}
	counts := func(status.Item) bool { return true }
	if slices.ContainsFunc(found, func(f foundSync) bool { return f.source.Namespace == team.Namespace() }) {
		scope.Teams = []teams.Team{team}
		ready = fmt.Sprintf("everything of team %s is ready at %s", repository, graph.ShortRevision(revision))
		counts = func(i status.Item) bool {
			return i.Namespace == team.Namespace() || i.Name == team.Namespace() && i.Kind == "Namespace"
		}
	}
	for _, each := range found {
		if each.Branch == branch {
			scope.Heads[each.source.String()] = revision
		}
	}
	watch := &inspect.Watch{}
	defer watch.Stop()
	return follow.Push{
		Look: func(ctx context.Context) (follow.State, error) {
			config := s.cluster.Admin()
			if config == nil {
				return follow.State{}, errNoCluster
			}
			all, err := watch.Snapshot(ctx, config)
			if err != nil {
				return follow.State{}, err
			}
			return s.pushed(all, scope, repository, branch, commit), nil
		},
		Counts: counts, Ready: ready, Command: s.Home.Call("status"), Every: followEvery, Patience: followPatience,
	}.Result(ctx, say)
}

// pushed returns the state of a platform after a push to the sources in scope.Heads.
func (s *supervisor) pushed(all *snapshot.Snapshot, scope graph.Scope, repository, branch, commit string) follow.State {
	report, g := inspect.Of(all, scope)
	state := follow.State{Report: report, Tried: true}
	head, err := gitserver.Head(s.Home.Git(), repository, branch)
	state.Replaced = err == nil && head != commit
	for _, o := range g.Objects {
		if o.Kind != "Kustomization" || o.Content == nil {
			continue
		}
		if source := g.SourceOf(o); source != nil && scope.Heads[source.Namespace+"/"+source.Name] != "" {
			state.Tried = state.Tried && o.Text("status", "lastAttemptedRevision") == scope.Heads[source.Namespace+"/"+source.Name]
		}
	}
	return state
}

// foundSync is a Kustomization in the cluster with the name of its source.
type foundSync struct {
	gitserver.Sync
	source types.NamespacedName
}

package gitserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/machine/gitserver/applied"
	"github.com/strata-platform/strata/internal/status/message"
	"github.com/strata-platform/strata/internal/terminal"
)

// Plans keeps the plans of branches that Flux does not apply. Its methods are called concurrently.
type Plans interface {
	// Create creates the plan of a pushed branch and returns its name, or "" on a platform without plans.
	Create(ctx context.Context, pushed Pushed) (name string, err error)
	// Follow waits until a plan of a repository is ready, or until waiting does not help, and returns the result as lines. It passes
	// what it waits for to say.
	Follow(ctx context.Context, repository, name string, say func(line string)) []string
	// Delete deletes the plans of deleted branches, and returns their number.
	Delete(ctx context.Context, repository string, branches []string) (int, error)
	// Command returns the command that shows a plan of a repository.
	Command(repository, name string) string
}

// Pushed is a branch that Flux does not apply, at a commit.
type Pushed struct {
	Repository, Branch, Commit string
	// Sync is the Kustomization that would apply the commit, and Built its build.
	Sync  Sync
	Built trial.Manifests
}

const (
	// mostPlans bounds the plans of one push. Each costs the operator a preview of each changed Stack.
	mostPlans = 4
	// planTime bounds the requests to the API server for one push.
	planTime = 15 * time.Second
)

// planned reports whether an update needs a plan: it sets a branch that Flux does not apply, in a repository with plans.
func (s *Server) planned(each update, syncs []Sync) bool {
	branch := applied.Branch(each.ref)
	return s.Plans != nil && branch != "" && !each.deletes() &&
		slices.ContainsFunc(syncs, Sync.CanPlan) && !slices.ContainsFunc(syncs, func(each Sync) bool { return each.Branch == branch })
}

// inPlans reports whether an object may be in a plan: a Stack, a Program, or a ConfigMap.
func inPlans(object trial.Object) bool {
	var head struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(object.JSON, &head) == nil && (head.Kind == "Stack" || head.Kind == "Program" || head.Kind == "ConfigMap")
}

// plan creates the plans of a push, deletes those of its deleted branches, and says so. It returns the names of the plans.
func (a *answer) plan(ctx context.Context, updates []update, waits bool, line func(string, ...any)) (names []string) {
	if a.Plans == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, planTime)
	defer cancel()
	// Other pushes of the account may already run.
	release := a.planning.take(ctx, a.repository, 1)
	if release == nil {
		line("other pushes to this repository still create plans: `strata plan` creates one")
		return nil
	}
	defer release()
	var deleted []string
	left := 0
	for _, each := range updates {
		if branch := applied.Branch(each.ref); branch != "" && each.deletes() {
			deleted = append(deleted, branch)
		}
		if !a.planned(each, a.findings.syncs) {
			continue
		}
		if len(names) >= mostPlans || a.findings.manifests[each.ref] == nil && len(a.findings.manifests) == mostPlans {
			left++
			continue
		}
		names = append(names, a.planBranch(ctx, each, waits, line)...)
	}
	if left > 0 {
		line("%d more branches have no plan, because a push creates at most %d: `strata plan` creates others", left, mostPlans)
	}
	if len(deleted) > 0 {
		switch count, err := a.Plans.Delete(ctx, a.repository, deleted); {
		case err != nil:
			line("the plans of deleted branches remain: %v", err)
		case count > 0:
			line("the plans of deleted branches are deleted: %d", count)
		}
	}
	return names
}

// planBranch creates the plans of a branch: one for each Kustomization.
func (a *answer) planBranch(ctx context.Context, each update, waits bool, line func(string, ...any)) (names []string) {
	for i, built := range a.findings.manifests[each.ref] {
		if i == mostPlans {
			line("the other Kustomizations of branch %s have no plan: `strata plan` creates them", applied.Branch(each.ref))
			break
		}
		of, branch := a.findings.syncs[i], applied.Branch(each.ref)
		if !of.CanPlan() {
			continue
		}
		if !a.recent.take(a.repository, a.Limits.Plans, time.Now()) {
			line("there is no plan of branch %s: the pushes of a repository create at most %d plans in a minute; `strata plan` creates one", branch, a.Limits.Plans)
			return names
		}
		name, err := a.Plans.Create(ctx, Pushed{Repository: a.repository, Branch: branch, Commit: each.new, Sync: of, Built: built})
		switch {
		case err != nil:
			line("there is no plan of branch %s: %s", branch, message.OneLine(err.Error()))
		case name != "":
			names = append(names, name)
			advice := fmt.Sprintf(", or wait for it with `git push -o %s`", waitOption)
			if waits {
				advice = ""
			}
			line("plan %s shows what it would do: see it with `%s`%s", name, a.Plans.Command(a.repository, name), advice)
		}
	}
	return names
}

// waitForPlans waits for the results of plans, and prints them.
func (a *answer) waitForPlans(ctx context.Context, control *http.ResponseController, names []string, say func(string), line func(string, ...any)) {
	ctx, end := a.patience(ctx, control, "plan", line)
	if end == nil {
		return
	}
	defer end()
	said := 0
	bounded := func(text string) {
		if said++; said <= mostSaid {
			// Unlike line, this keeps the blanks at the beginning.
			say(terminal.Lines(text, 1, longestReason))
		}
	}
	for _, name := range names {
		for _, text := range a.Plans.Follow(ctx, a.repository, name, bounded) {
			bounded(text)
		}
	}
	if said > mostSaid {
		line("… and %d more lines: `%s` prints all", said-mostSaid, a.Plans.Command(a.repository, names[len(names)-1]))
	}
}

// patience begins a wait of a push for what. It bounds the number of waiting pushes and the time of each, because each holds a
// connection and a git process. The end is nil if the push cannot wait.
func (a *answer) patience(ctx context.Context, control *http.ResponseController, what string, line func(string, ...any)) (context.Context, func()) {
	release := a.followed.try(a.repository, followsAtOnce)
	if release == nil {
		line("%d pushes to this repository already wait for their results: this push does not wait", followsAtOnce)
		return ctx, nil
	}
	// A little more time than the wait itself, for the last lines.
	end := time.Now().Add(a.Limits.Follow + a.Limits.Time)
	if err := errors.Join(control.SetReadDeadline(end), control.SetWriteDeadline(end)); err != nil {
		release()
		line("the server cannot wait on this connection: %v", err)
		return ctx, nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.Limits.Follow)
	line("waiting for the %s, at most %s; Ctrl-C ends the wait, but not the push", what, a.Limits.Follow)
	return ctx, func() { cancel(); release() }
}

// recent counts the plans of the last minute by repository.
type recent struct {
	lock    sync.Mutex
	created map[string][]time.Time
}

// take reports whether a repository may create another plan, and counts it.
func (r *recent) take(repository string, most int, now time.Time) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.created == nil {
		r.created = map[string][]time.Time{}
	}
	kept := slices.DeleteFunc(r.created[repository], func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(kept) < most {
		r.created[repository] = append(kept, now)
		return true
	}
	r.created[repository] = kept
	return false
}

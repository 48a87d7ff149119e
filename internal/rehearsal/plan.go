package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/wait"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/teams"
)

// branch is the branch of a team's repository that the plan of its Stacks is of.
const branch = "strata-rehearsal"

// planner is a runner of a layer that returns each change.
type planner interface {
	Plan(ctx context.Context, l layers.Layer, progress layers.Progress) (*events.Plan, error)
}

// planLayers previews both layers, before either is applied.
func (r *run) planLayers(ctx context.Context, show *progress.Reporter) (string, error) {
	for _, layer := range []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer} {
		found, err := r.planLayer(ctx, show, layer)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			// The version cannot run this layer on this platform, which is a result.
			r.add(Part{Layer: layer, Stack: plan.Stack{Name: layer, Failed: true, Message: err.Error()}})
			r.result.Cause = fmt.Sprintf("layer %s cannot be planned: %v", layer, err)
			return "failed", nil
		}
		stack, _ := planned.Stack(layer, found)
		r.add(Part{Layer: layer, Stack: stack})
	}
	return r.brief(), nil
}

func (r *run) planLayer(ctx context.Context, show *progress.Reporter, layer string) (*events.Plan, error) {
	run, release, err := r.platform.Hold(ctx, layer)
	if err != nil {
		return nil, err
	}
	defer release()
	runner, ok := run.Runner.(planner)
	if !ok {
		return nil, errors.New("its runner cannot plan")
	}
	return runner.Plan(ctx, run.Layer, detail(show))
}

// add adds a part to the result.
func (r *run) add(part Part) {
	for _, step := range part.Steps {
		if step.LosesData {
			r.result.Losses++
		}
	}
	r.result.Parts = append(r.result.Parts, part)
}

// brief describes the changes of all parts.
func (r *run) brief() string {
	sum := layers.Summary{Changes: map[string]int{}}
	for _, part := range r.result.Parts {
		for op, count := range part.Changes {
			sum.Changes[op] += count
		}
	}
	return sum.String()
}

// applyLayers applies both layers, and waits until layer 3 is ready.
func (r *run) applyLayers(ctx context.Context, show *progress.Reporter) (string, error) {
	for _, layer := range []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer} {
		err := func() error {
			run, release, err := r.platform.Hold(ctx, layer)
			if err != nil {
				return err
			}
			defer release()
			_, err = run.Runner.Up(ctx, run.Layer, detail(show))
			return err
		}()
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			r.result.Cause = fmt.Sprintf("layer %s cannot be applied: %v", layer, err)
			return "failed", nil
		}
	}
	_, err := r.life.WaitReady(ctx, wait.Platform, func(i status.Item) { show.Detail("waiting for %s", i) })
	if failed := (*wait.TeamsError)(nil); err != nil && !errors.As(err, &failed) {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		r.result.Cause = err.Error()
		return "not ready", nil
	}
	return "layers 1 to 3 are ready", nil
}

// planStacks plans the Stacks of the teams' repositories, like those of a branch that nobody has merged yet.
func (r *run) planStacks(ctx context.Context, show *progress.Reporter) (string, error) {
	if err := r.move(held, ".git"); err != nil {
		return "", err
	}
	config, err := r.platform.Config(ctx, false)
	if err != nil {
		return "", err
	}
	client, err := plans.NewClient(config)
	if err != nil {
		return "", err
	}
	list, err := r.platform.Teams()
	if err != nil {
		return "", err
	}
	var mu sync.Mutex
	all := make([][]*plan.Plan, len(list))
	group, ctx := errgroup.WithContext(ctx)
	for i, team := range list {
		if unplanned(team) {
			r.result.Left = append(r.result.Left, fmt.Sprintf("the plans of team %s, whose Stacks Flux does not fetch from a branch", team.Name))
			continue
		}
		group.Go(func() error {
			if err := r.push(ctx, team); err != nil {
				return fmt.Errorf("team %s: %w", team.Name, err)
			}
			found, err := client.List(ctx, team.Namespace())
			for _, each := range found {
				if err != nil || each.Spec.Branch != branch {
					continue
				}
				each, err = client.Follow(ctx, each, func(state string) {
					mu.Lock()
					defer mu.Unlock()
					show.Detail("team %s: %s", team.Name, state)
				})
				all[i] = append(all[i], each)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return "", err
	}
	count := 0
	for i, team := range list {
		if len(all[i]) == 0 && !unplanned(team) {
			r.result.Left = append(r.result.Left, fmt.Sprintf("the plans of team %s: the Git server has created none", team.Name))
		}
		for _, each := range all[i] {
			if len(each.Status.Stacks) == 0 && each.Status.Phase == plan.Failed {
				r.add(Part{Layer: "team", Namespace: team.Namespace(), Stack: plan.Stack{Name: each.Name, Failed: true, Message: each.Status.Message}})
			}
			for _, stack := range each.Status.Stacks {
				r.add(Part{Layer: "team", Namespace: team.Namespace(), Stack: stack})
				count++
			}
		}
	}
	return fmt.Sprintf("Stacks: %d", count), nil
}

// unplanned reports whether Flux fetches the files of a team from something else than a branch, so that the Git server creates no Plan.
func unplanned(team teams.Team) bool { return team.Artifacts() || team.Tags() || team.Objects() }

// push pushes the branch that Flux applies as another one. The Git server creates a Plan of it.
func (r *run) push(ctx context.Context, team teams.Team) error {
	h := r.platform.Home
	running, err := r.platform.Supervisor().Status(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(h.Git(), team.Name+".git")
	address := strings.Replace(running.GitURL, "://", "://"+team.Name+"@", 1) + "/" + team.Name + ".git"
	out, err := git(ctx, dir, "-c", "credential.helper=", "-c", "credential.helper=store --file="+h.GitCredentials(),
		"push", "--quiet", address, "refs/heads/"+team.Branch+":refs/heads/"+branch).CombinedOutput()
	if err != nil {
		return fmt.Errorf("plan its branch %s: %w: %s", team.Branch, err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

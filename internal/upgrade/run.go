package upgrade

import (
	"context"
	"errors"
	"fmt"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/wait"
	"github.com/strata-platform/strata/internal/versions"
)

// Run upgrades a platform step by step. After each step it waits until the platform is ready up to that layer, and stops with an error
// if it does not become ready. The next call continues at the step at which the last one stopped.
func Run(ctx context.Context, p *lifecycle.Platform, show *progress.Reporter) error {
	check := p.Check()
	if err := do(ctx, show, check); err != nil {
		return err
	}
	release, err := p.Lock()
	if err != nil {
		return err
	}
	defer release()
	facts, err := versions.Facts(ctx, p)
	if err == nil {
		err = refuse(ctx, p, facts)
	}
	if err == nil {
		err = p.Orders().RefuseEarly(ctx, lifecycle.PlatformLayer)
	}
	if err != nil {
		return err
	}
	run := upgrade{Platform: p, show: show, facts: facts}
	if facts.Begun.To == facts.Offered.Strata {
		run.from = facts.Begun.Step
	}
	var applies []lifecycle.Step
	for _, step := range p.Prepare(true) {
		// Flux applies layer 3 once the platform's repository contains it, so this step is a part of the last one.
		if step.Applies {
			applies = append(applies, step)
		} else if err := do(ctx, show, step); err != nil {
			return run.stopped("its preparation", err)
		}
	}
	for i, each := range layerSteps {
		healthy := []wait.For{wait.Bootstrap, wait.Flux}[i]
		if err := run.layer(ctx, each.name, each.layer, healthy); err != nil {
			return run.stopped(each.name, err)
		}
	}
	if err := run.operator(ctx, applies); err != nil {
		return run.stopped(operatorStep, err)
	}
	return p.Journal().EndUpgrade()
}

func do(ctx context.Context, show *progress.Reporter, step lifecycle.Step) error {
	return show.Run(step.Name, func() (string, error) { return step.Do(ctx, show) })
}

// upgrade is a run of an upgrade.
type upgrade struct {
	*lifecycle.Platform
	show  *progress.Reporter
	facts skew.Facts
	// from is the recorded step at which the upgrade continues; empty for the first one.
	from string
}

// layer runs the step of a layer, unless an earlier call has finished it.
func (u *upgrade) layer(ctx context.Context, name, layer string, healthy wait.For) error {
	return u.show.Run(name, func() (string, error) {
		if u.skips(name) {
			return "done before", nil
		}
		step, err := preview(ctx, u.Platform, u.facts, name, layer, u.show)
		if err == nil {
			err = step.refuse(u.Platform, layer)
		}
		if err == nil {
			err = u.Journal().BeginUpgrade(u.facts.Offered.Strata, name)
		}
		if err != nil {
			return "", err
		}
		result := "nothing to change"
		if step.Changes() {
			summary, err := u.UpHeld(ctx, layer, func(op, resource string) { u.show.Detail("%s %s", op, resource) })
			if err != nil {
				return "", err
			}
			result = summary.String()
		}
		return result + ", healthy", u.health(ctx, healthy)
	})
}

// skips reports whether the recorded step comes after a step. Layers 1 and 2 have finished if they come before it.
func (u *upgrade) skips(name string) bool {
	order := map[string]int{bootstrapStep: 1, platformStep: 2, operatorStep: 3}
	return order[u.from] > order[name]
}

// operator hands layer 3 to Flux, and waits until the platform is ready with it.
func (u *upgrade) operator(ctx context.Context, applies []lifecycle.Step) error {
	return u.show.Run(operatorStep, func() (string, error) {
		if err := u.Journal().BeginUpgrade(u.facts.Offered.Strata, operatorStep); err != nil {
			return "", err
		}
		for _, step := range applies {
			if _, err := step.Do(ctx, u.show); err != nil {
				return "", err
			}
		}
		if err := u.health(ctx, wait.Platform); err != nil {
			return "", err
		}
		facts, err := versions.Facts(ctx, u.Platform)
		if err != nil {
			return "", err
		}
		if left := operatorVersions(facts); len(left) > 0 {
			return "", fmt.Errorf("Flux applies %s %s, and this strata has %s: push this version of sync/ to the platform's repository", left[0].Name, left[0].From, left[0].To)
		}
		return "everything of the platform is ready", nil
	})
}

// health waits until the platform is ready up to a layer.
func (u *upgrade) health(ctx context.Context, what wait.For) error {
	_, err := u.WaitReady(ctx, what, func(i status.Item) { u.show.Detail("waiting for %s", i) })
	return err
}

// stopped says where an upgrade has stopped, and how to continue.
func (u *upgrade) stopped(step string, err error) error {
	again := u.About().Call("upgrade")
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted at %s: run `%s` again to continue there", step, again)
	}
	return fmt.Errorf("the upgrade stopped at %s, and no later step has begun: %w: correct the cause and run `%s` again to continue there", step, err, again)
}

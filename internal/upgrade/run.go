package upgrade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/wait"
	"github.com/strata-platform/strata/internal/versions"
)

// Run upgrades a platform step by step. After each step it waits until the platform is ready up to that step, and stops with an error
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
		// Flux applies layer 3 once the platform's repository contains it, so this step is a part of those of layer 3.
		if step.Applies {
			applies = append(applies, step)
		} else if err := do(ctx, show, step); err != nil {
			return run.stopped("its preparation", err)
		}
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) (string, error)
	}{
		{bootstrapStep, func(ctx context.Context) (string, error) {
			return run.layer(ctx, bootstrapStep, lifecycle.BootstrapLayer, wait.Bootstrap)
		}},
		{platformStep, func(ctx context.Context) (string, error) {
			return run.layer(ctx, platformStep, lifecycle.PlatformLayer, wait.Objects)
		}},
		{fluxStep, run.flux},
		{kindsStep, func(ctx context.Context) (string, error) { return run.kinds(ctx, applies) }},
		{operatorStep, func(ctx context.Context) (string, error) { return run.operator(ctx, applies) }},
	} {
		err := show.Run(step.name, func() (string, error) {
			if before(step.name, run.from) {
				return "done before", nil
			}
			return step.do(ctx)
		})
		if err != nil {
			return run.stopped(step.name, err)
		}
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
	// from is the recorded step at which the last upgrade has stopped; empty if none has.
	from string
}

// layer runs the step of a layer.
func (u *upgrade) layer(ctx context.Context, name, layer string, healthy wait.For) (string, error) {
	step, err := preview(ctx, u.Platform, u.facts, name, layer, u.show)
	if err == nil {
		err = step.refuse(u.Platform, layer)
	}
	if err == nil {
		err = u.begin(name)
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
}

// flux waits until the Flux that layer 2 has installed works, and all of its controllers have its version.
func (u *upgrade) flux(ctx context.Context) (string, error) {
	if err := u.begin(fluxStep); err != nil {
		return "", err
	}
	if err := u.health(ctx, wait.Flux); err != nil {
		return "", err
	}
	now, err := u.look(ctx)
	if err != nil || now.Cluster == nil {
		return "healthy", err
	}
	want := now.Offered.Flux
	for _, name := range slices.Sorted(maps.Keys(now.Cluster.Controllers)) {
		if has := now.Cluster.Controllers[name]; skew.Differ(has, want) {
			return "", fmt.Errorf("Deployment %s/%s belongs to Flux %s, and layer 2 has installed %s: run `%s`",
				fluxcd.Namespace, name, has, want, u.About().Call("layer up "+lifecycle.PlatformLayer))
		}
	}
	return want + ", healthy", nil
}

// begin records that a step begins.
func (u *upgrade) begin(step string) error {
	return u.Journal().BeginUpgrade(u.facts.Offered.Strata, step)
}

// look returns the facts with the present versions in the cluster.
func (u *upgrade) look(ctx context.Context) (skew.Facts, error) {
	now := u.facts
	config, err := u.Config(ctx, false)
	if now.Cluster = nil; err != nil || config == nil {
		return now, err
	}
	now.Cluster, err = versions.Cluster(ctx, config, now.Offered)
	return now, err
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

// Package upgrade brings a running platform to this strata, one step at a time, from the cluster to the operator.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/breaking"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/internal/versions"
)

// layerSteps are the steps that run a layer.
var layerSteps = []struct{ name, layer string }{
	{bootstrapStep, lifecycle.BootstrapLayer}, {platformStep, lifecycle.PlatformLayer},
}

// Plan is what an upgrade would do. Its JSON form is stable.
type Plan struct {
	// Strata is the version of this strata.
	Strata string `json:"strata"`
	// Begun is the step at which an earlier upgrade has stopped; empty if none has.
	Begun string `json:"begun"`
	// Refused says why the upgrade would change nothing; empty if it would run.
	Refused string `json:"refused"`
	Steps   []Step `json:"steps"`
}

// ErrNone means that there is no platform to upgrade.
var ErrNone = errors.New("there is no platform yet")

// Exists returns [ErrNone] if layer 2 of a platform has no resources.
func Exists(ctx context.Context, p *lifecycle.Platform) error {
	if !p.Exists() || !p.Made(lifecycle.PlatformLayer) {
		return ErrNone
	}
	state, err := p.State(ctx, lifecycle.PlatformLayer)
	if err == nil && len(state.Resources) == 0 {
		err = ErrNone
	}
	return err
}

// PlanOf previews an upgrade. It changes no resource; on this machine it starts the programs that the previews need.
func PlanOf(ctx context.Context, p *lifecycle.Platform, show *progress.Reporter) (Plan, error) {
	release, err := p.Lock()
	if err != nil {
		return Plan{}, err
	}
	defer release()
	for _, step := range p.Prepare(false) {
		if err := show.RunShort(step.Name, func() (string, error) { return step.Do(ctx, show) }); err != nil {
			return Plan{}, err
		}
	}
	facts, err := versions.Facts(ctx, p)
	if err != nil {
		return Plan{}, err
	}
	made := Plan{Strata: facts.Offered.Strata, Begun: facts.Begun.Step, Steps: []Step{}}
	var refused []string
	if err := refuse(ctx, p, facts); err != nil {
		refused = append(refused, err.Error())
	}
	for _, each := range layerSteps {
		var step Step
		err := show.RunShort("preview of "+each.name, func() (_ string, err error) {
			step, err = preview(ctx, p, facts, each.name, each.layer, show)
			if err != nil && ctx.Err() == nil && slices.ContainsFunc(made.Steps, Step.Changes) {
				step.Unknown = terminal.Line(err.Error(), mostUnknown)
				return "not before layer 1 has run", nil
			}
			return "", err
		})
		if err != nil {
			return Plan{}, err
		}
		if err := step.refuse(p, each.layer); err != nil {
			refused = append(refused, err.Error())
		}
		made.Steps = append(made.Steps, step)
	}
	flux := without(fluxStep, fluxVersions(facts))
	second := &made.Steps[len(made.Steps)-1]
	if second.moveFlux(&flux); second.Unknown != "" {
		flux.Unknown = "layer 2 has no preview yet"
	}
	made.Steps = append(made.Steps, flux, without(kindsStep, kindsVersions(facts)), without(operatorStep, operatorVersions(facts)))
	made.Refused = strings.Join(refused, "; ")
	return made, nil
}

// without returns a step without a preview of its own.
func without(name string, versions []Version) Step {
	return Step{Name: name, Versions: versions, Counts: map[string]int{}, Resources: []Resource{}, Warnings: []string{}}
}

// refuse returns an error if an upgrade must not begin: a newer Strata has run a layer or has begun an upgrade, or the new kinds lose
// something.
func refuse(ctx context.Context, p *lifecycle.Platform, facts skew.Facts) error {
	mine := facts.Offered.Strata
	if err := p.RefuseUpgrade(); err != nil {
		return err
	}
	for _, layer := range facts.Layers {
		if err := lifecycle.RefuseOlder(layer.Name, layer.Strata, mine); err != nil {
			return err
		}
	}
	if config, err := p.Config(ctx, true); err != nil || config == nil {
		return err
	}
	items, config, err := p.Below(ctx)
	if err != nil {
		return err
	}
	if config == nil {
		return fmt.Errorf("an upgrade needs a healthy cluster: %s", items[len(items)-1].Message)
	}
	return breaking.RefuseKinds(ctx, lifecycle.Brief(config), facts.Offered.Definitions)
}

// refuse returns an error if a step would delete data.
func (s Step) refuse(p *lifecycle.Platform, layer string) error {
	lost := s.lost()
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%s: nothing was changed in this layer: the step would lose data: %s: correct the configuration, or run `%s` if you want that",
		s.Name, strings.Join(lost, ", "), p.About().Call("layer up "+layer))
}

// mostUnknown bounds the text of a failed preview, in characters.
const mostUnknown = 1000

// preview previews a layer.
func preview(ctx context.Context, p *lifecycle.Platform, facts skew.Facts, name, layer string, show *progress.Reporter) (Step, error) {
	step := Step{Name: name, Versions: layerVersions(facts, layer), Resources: []Resource{}, Warnings: []string{}}
	summary, err := p.PreviewHeld(ctx, layer, func(op, resource string) {
		show.Detail("%s %s", op, resource)
		step.add(op, resource)
	})
	step.sort()
	if step.Counts = summary.Changes; step.Counts == nil {
		step.Counts = map[string]int{}
	}
	return step, err
}

// Package upgrade brings a running platform to this strata, one layer at a time, from the cluster to the operator.
package upgrade

import (
	"cmp"
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

// Names of the steps, as a record keeps them.
const (
	bootstrapStep = "layer 1: bootstrap"
	platformStep  = "layer 2: platform, with Flux"
	operatorStep  = "layer 3: the operator and its kinds"
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
	made.Steps = append(made.Steps, Step{Name: operatorStep, Versions: operatorVersions(facts), Counts: map[string]int{}, Resources: []Resource{}, Warnings: []string{}})
	made.Refused = strings.Join(refused, "; ")
	return made, nil
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
	config, err := p.Config(ctx, true)
	if err != nil || config == nil {
		return err
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
	slices.SortFunc(step.Resources, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	if step.Counts = summary.Changes; step.Counts == nil {
		step.Counts = map[string]int{}
	}
	return step, err
}

// layerVersions returns the versions that a run of a layer changes.
func layerVersions(facts skew.Facts, name string) []Version {
	layer, versions := facts.Layer(name), []Version{}
	add := func(part, from, to string) {
		if to != "" && from != to {
			versions = append(versions, Version{part, from, to})
		}
	}
	add("strata", layer.Strata, facts.Offered.Strata)
	if name == lifecycle.PlatformLayer {
		add("flux", layer.Flux, facts.Offered.Flux)
	}
	if layer.Pulumi != "" {
		add("pulumi", layer.Pulumi, facts.Offered.Pulumi)
	}
	return versions
}

// operatorVersions returns the versions that layer 3 changes.
func operatorVersions(facts skew.Facts) []Version {
	versions := []Version{}
	if facts.Cluster == nil {
		return versions
	}
	has, want := facts.Cluster.Operator, facts.Offered.Operator
	if skew.Differ(has.Tag, want.Tag) {
		versions = append(versions, Version{"operator", has.Tag, want.Tag})
	}
	if skew.Differ(has.Commit, want.Commit) {
		versions = append(versions, Version{"kinds of the operator", has.Commit, want.Commit})
	}
	for _, kind := range facts.Cluster.Kinds {
		from := "another schema"
		if kind.Missing {
			from = "none"
		}
		versions = append(versions, Version{"kind " + kind.Name, from, "the schema of " + facts.Offered.Strata})
	}
	return versions
}

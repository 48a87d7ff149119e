package upgrade

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/internal/status"
)

// thisStrata is the version of this strata; lifecycle compares the states of the layers with it.
const thisStrata = "v0.1.0"

// target is a target whose layers record what they do. A method that it does not have is a failure of the test.
type target struct {
	lifecycle.Target
	lifecycle.Runner

	// strata are the versions of Strata that ran the layers last.
	strata map[string]string
	// config reaches the cluster; nil if there is none.
	config *rest.Config
	// limit bounds each wait.
	limit time.Duration
	// changes are the engine's operations in the previews of layers. fails is the operation that fails once.
	changes map[string][][2]string
	fails   string
	ready   status.Item

	events []string
	// to and step are the record. unready makes the platform unready while this step is recorded.
	to, step, unready string
}

func newTarget() *target {
	return &target{
		limit:   time.Minute,
		strata:  map[string]string{lifecycle.BootstrapLayer: "v0.0.9", lifecycle.PlatformLayer: "v0.0.9"},
		changes: map[string][][2]string{}, ready: status.Item{Layer: status.LayerBootstrap, Kind: "Cluster", Ready: true},
	}
}

func (t *target) does(event string) error {
	t.events = append(t.events, event)
	if event == t.fails {
		t.fails = ""
		return errors.New("killed")
	}
	return nil
}

func (t *target) About() lifecycle.About {
	return lifecycle.About{TeamsFile: "teams.yaml", Call: func(words string) string { return "strata " + words }, Ready: t.limit, Poll: time.Millisecond}
}
func (t *target) Exists() bool { return true }
func (t *target) Check() lifecycle.Step {
	return lifecycle.Step{Name: "check", Do: func(context.Context, *progress.Reporter) (string, error) { return "", t.does("check") }}
}
func (t *target) Lock() (func(), error) { return func() {}, nil }
func (t *target) Prepare(bool) []lifecycle.Step {
	step := func(name string) func(context.Context, *progress.Reporter) (string, error) {
		return func(context.Context, *progress.Reporter) (string, error) { return "", t.does(name) }
	}
	return []lifecycle.Step{{Name: "programs", Do: step("programs")}, {Name: "push", Do: step("push"), Applies: true}}
}
func (t *target) Journal() lifecycle.Journal { return t }
func (t *target) Made(string) bool           { return true }
func (t *target) State(_ context.Context, layer string) (apitype.DeploymentV3, error) {
	stack := apitype.ResourceV3{Type: "pulumi:pulumi:Stack", Outputs: map[string]any{handoff.OutputStrata: t.strata[layer]}}
	return apitype.DeploymentV3{Resources: []apitype.ResourceV3{stack}}, nil
}
func (t *target) Hold(_ context.Context, layer string) (lifecycle.Run, func(), error) {
	return lifecycle.Run{Layer: layers.Layer{Name: layer}, Runner: t}, func() {}, nil
}
func (t *target) Offered(context.Context) (skew.Offered, error) {
	return skew.Offered{Strata: thisStrata}, nil
}
func (t *target) Config(context.Context, bool) (*rest.Config, error) { return t.config, nil }
func (t *target) Alive(context.Context) error                        { return nil }
func (t *target) Below(context.Context) ([]status.Item, *rest.Config, error) {
	t.events = append(t.events, "look")
	item := t.ready
	if t.step != "" && t.step == t.unready {
		item.Ready, item.Reason, item.Message = false, "failed", "no memory"
	}
	return []status.Item{item}, nil, nil
}

func (t *target) Up(_ context.Context, l layers.Layer, _ layers.Progress) (layers.Summary, error) {
	t.strata[l.Name] = thisStrata
	return layers.Summary{}, t.does("up " + l.Name)
}
func (t *target) Preview(_ context.Context, l layers.Layer, tell layers.Progress) (layers.Summary, error) {
	for _, change := range t.changes[l.Name] {
		tell(change[0], change[1])
	}
	return layers.Summary{}, t.does("preview " + l.Name)
}

func (t *target) BeginDown(string) error    { return nil }
func (t *target) DownBegun() (string, bool) { return "", false }
func (t *target) EndDown() error            { return nil }
func (t *target) BeginUpgrade(to, step string) error {
	t.to, t.step = to, step
	return nil
}
func (t *target) UpgradeBegun() (to, step string, begun bool) { return t.to, t.step, t.to != "" }
func (t *target) EndUpgrade() error {
	t.to, t.step = "", ""
	return nil
}

// did returns the events without the looks at the status, and forgets them.
func (t *target) did() string {
	var kept []string
	for _, event := range t.events {
		if event != "look" {
			kept = append(kept, event)
		}
	}
	t.events = nil
	return strings.Join(kept, ", ")
}

func (t *target) run(test *testing.T) error {
	return Run(test.Context(), lifecycle.New(t), progress.New(io.Discard))
}

func TestAnUpgradeRunsTheLayersAndThenHandsLayer3ToFlux(t *testing.T) {
	target := newTarget()
	if err := target.run(t); err != nil {
		t.Fatal(err)
	}
	if got, want := target.did(), "check, programs, preview bootstrap, up bootstrap, preview platform, up platform, push"; got != want {
		t.Errorf("it does %s, want %s", got, want)
	}
	if target.to != "" {
		t.Errorf("the record stays: %s", target.step)
	}
	// A second upgrade finds nothing to change, and so runs no layer.
	if err := target.run(t); err != nil {
		t.Fatal(err)
	}
	if got, want := target.did(), "check, programs, preview bootstrap, preview platform, push"; got != want {
		t.Errorf("again it does %s, want %s", got, want)
	}
}

func TestAnUpgradeContinuesAtTheStepThatHadBegun(t *testing.T) {
	for fails, again := range map[string]string{
		"programs":          "check, programs, preview bootstrap, up bootstrap, preview platform, up platform, push",
		"preview bootstrap": "check, programs, preview bootstrap, up bootstrap, preview platform, up platform, push",
		"up bootstrap":      "check, programs, preview bootstrap, preview platform, up platform, push",
		"preview platform":  "check, programs, preview bootstrap, preview platform, up platform, push",
		"up platform":       "check, programs, preview platform, push",
		"push":              "check, programs, push",
	} {
		t.Run(fails, func(t *testing.T) {
			target := newTarget()
			target.fails = fails
			err := target.run(t)
			if err == nil || !strings.Contains(err.Error(), "and no later step has begun: killed: correct the cause and run `strata upgrade` again") {
				t.Fatalf("the error is %v", err)
			}
			target.did()
			if err := target.run(t); err != nil {
				t.Fatal(err)
			}
			if got := target.did(); got != again {
				t.Errorf("it continues with %s, want %s", got, again)
			}
		})
	}
}

// TestAnUpgradeContinuesAtTheStepThatWasNotHealthy stops the wait of each step.
func TestAnUpgradeContinuesAtTheStepThatWasNotHealthy(t *testing.T) {
	for unready, test := range map[string]struct{ does, again string }{
		bootstrapStep: {"check, programs, preview bootstrap, up bootstrap", "check, programs, preview bootstrap, preview platform, up platform, push"},
		platformStep:  {"check, programs, preview bootstrap, up bootstrap, preview platform, up platform", "check, programs, preview platform, push"},
		fluxStep:      {"check, programs, preview bootstrap, up bootstrap, preview platform, up platform", "check, programs, preview platform, push"},
		kindsStep:     {"check, programs, preview bootstrap, up bootstrap, preview platform, up platform, push", "check, programs, push"},
		operatorStep:  {"check, programs, preview bootstrap, up bootstrap, preview platform, up platform, push", "check, programs, push"},
	} {
		t.Run(unready, func(t *testing.T) {
			target := newTarget()
			target.unready, target.limit = unready, 20*time.Millisecond
			err := target.run(t)
			if err == nil || !strings.Contains(err.Error(), "the upgrade stopped at "+unready+", and no later step has begun: the platform is not ready after 20ms: Cluster: failed: no memory") {
				t.Fatalf("the error is %v", err)
			}
			if got := target.did(); got != test.does || target.step != unready {
				t.Errorf("it does %s, and records %q", got, target.step)
			}
			target.unready = ""
			if err := target.run(t); err != nil {
				t.Fatal(err)
			}
			if got := target.did(); got != test.again {
				t.Errorf("it continues with %s, want %s", got, test.again)
			}
		})
	}
}

func TestAnUpgradeContinuesAtTheStepsOfAnEarlierStrata(t *testing.T) {
	for recorded, want := range map[string]string{
		"layer 2: platform, with Flux":        "check, programs, preview platform, up platform, push",
		"layer 3: the operator and its kinds": "check, programs, push",
	} {
		target := newTarget()
		target.to, target.step = thisStrata, recorded
		if err := target.run(t); err != nil {
			t.Fatal(err)
		}
		if got := target.did(); got != want {
			t.Errorf("after %q it does %s, want %s", recorded, got, want)
		}
	}
}

func TestANewerStrataBeginsTheUpgradeThatAnOlderOneStopped(t *testing.T) {
	target := newTarget()
	target.to, target.step = "v0.0.9", operatorStep
	if err := target.run(t); err != nil {
		t.Fatal(err)
	}
	if got, want := target.did(), "check, programs, preview bootstrap, up bootstrap, preview platform, up platform, push"; got != want {
		t.Errorf("it does %s, want %s", got, want)
	}
}

func TestAnUpgradeStopsAtAPlatformThatIsNotReady(t *testing.T) {
	target := newTarget()
	target.ready.Ready, target.ready.Reason, target.ready.Message = false, "failed", "no memory"
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := Run(ctx, lifecycle.New(target), progress.New(io.Discard)); err == nil {
		t.Fatal("it goes on")
	}
	if got, want := target.did(), "check, programs, preview bootstrap, up bootstrap"; got != want {
		t.Errorf("it does %s, want %s", got, want)
	}
	if target.step != bootstrapStep {
		t.Errorf("the record is %q", target.step)
	}
}

func TestAnUpgradeRefusesBeforeItChangesAnything(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*target)
		want, does string
	}{
		"a newer layer": {
			func(t *target) { t.strata[lifecycle.PlatformLayer] = "v9.0.0" }, "layer platform: nothing was changed: Strata v9.0.0 ran this layer last", "check",
		},
		"an upgrade by another Strata": {
			func(t *target) { t.to, t.step = "v9.0.0", platformStep }, "an upgrade to Strata v9.0.0 has stopped at its step", "check",
		},
		"a loss of data": {
			func(t *target) {
				t.changes[lifecycle.BootstrapLayer] = [][2]string{{"delete-replaced", "gcp:sql/databaseInstance:DatabaseInstance instance"}}
			},
			"the step would lose data: replace gcp:sql/databaseInstance:DatabaseInstance instance: correct the configuration, or run `strata layer up bootstrap`",
			"check, programs, preview bootstrap",
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := newTarget()
			test.change(target)
			begun := target.to
			if err := target.run(t); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			if got := target.did(); got != test.does {
				t.Errorf("it does %s, want %s", got, test.does)
			}
			if target.to != begun {
				t.Errorf("the record says %s, want %q: another Strata could not correct the cause", target.to, begun)
			}
			plan, err := PlanOf(t.Context(), lifecycle.New(target), progress.New(io.Discard))
			if err != nil || !strings.Contains(plan.Refused, test.want) {
				t.Errorf("the plan says %q, %v", plan.Refused, err)
			}
		})
	}
}

func TestThePlanOfALayerThatNeedsTheLayerBelowIsUnknown(t *testing.T) {
	target := newTarget()
	target.strata[lifecycle.BootstrapLayer] = thisStrata
	target.fails = "preview platform"
	if _, err := PlanOf(t.Context(), lifecycle.New(target), progress.New(io.Discard)); err == nil {
		t.Error("a preview fails that needs nothing of layer 1, and the plan succeeds")
	}
	target.fails = "preview platform"
	target.changes[lifecycle.BootstrapLayer] = [][2]string{{"create", "gcp:serviceaccount/account:Account team-new"}}
	plan, err := PlanOf(t.Context(), lifecycle.New(target), progress.New(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	var unknown []string
	for _, step := range plan.Steps {
		unknown = append(unknown, step.Unknown)
	}
	if want := []string{"", "killed", "layer 2 has no preview yet", "", ""}; !slices.Equal(unknown, want) {
		t.Errorf("unknown are %q", unknown)
	}
}

func TestAChangeOfFluxAloneRunsLayer2(t *testing.T) {
	target := newTarget()
	target.strata = map[string]string{lifecycle.BootstrapLayer: thisStrata, lifecycle.PlatformLayer: thisStrata}
	target.changes[lifecycle.PlatformLayer] = [][2]string{{"update", "flux:index/bootstrapGit:BootstrapGit flux-bootstrap"}}
	plan, err := PlanOf(t.Context(), lifecycle.New(target), progress.New(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	var changed []string
	for _, step := range plan.Steps {
		if step.Changes() {
			changed = append(changed, step.Name)
		}
	}
	if !slices.Equal(changed, []string{fluxStep}) {
		t.Errorf("the plan changes %q", changed)
	}
	target.did()
	if err := target.run(t); err != nil {
		t.Fatal(err)
	}
	if got, want := target.did(), "check, programs, preview bootstrap, preview platform, up platform, push"; got != want {
		t.Errorf("it does %s, want %s", got, want)
	}
}

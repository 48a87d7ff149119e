package lifecycle

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/teams"
)

// testTarget is a target whose layers have given resources, and whose cluster's API gives fixed answers.
type testTarget struct {
	states  map[string][]apitype.ResourceV3
	cluster *httptest.Server
	finish  []Step
	journal testJournal
	// pending are the operations that a killed run has left in the state of every layer.
	pending []apitype.OperationV2
	// unreadable is the error of reading the state of any layer.
	unreadable error
	// below are the items of layer 1. readable is the configuration of the cluster; nil if no status can be read from it.
	below    []status.Item
	readable *rest.Config
	runner   testRunner
	// events are the locks, preparations and runs, in order. locked is the error of Lock. neverMade says that no layer ever ran.
	events    []string
	locked    error
	neverMade bool
	// refreshes says that the runs of the layers refresh by themselves.
	refreshes bool
}

// newTestTarget returns a target with a cluster whose API answers with answers by path. Layer 2 holds the namespace of the
// team gone, which is not in teams.yaml.
func newTestTarget(t *testing.T, answers map[string]string) *testTarget {
	t.Helper()
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, is := answers[r.URL.Path]
		if !is {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(cluster.Close)
	return &testTarget{cluster: cluster, states: map[string][]apitype.ResourceV3{
		BootstrapLayer: {stated("gcp:sql/databaseInstance:DatabaseInstance", map[string]any{"name": "acme"})},
		PlatformLayer:  {stated(namespaceType, map[string]any{"metadata": map[string]any{"name": "team-gone", "labels": map[string]any{"strata.dev/team": "gone"}}})},
	}}
}

func stated(kind tokens.Type, inputs map[string]any) apitype.ResourceV3 {
	return apitype.ResourceV3{Type: kind, URN: resource.NewURN("dev", "test", "", kind, "x"), Inputs: inputs}
}

func (t *testTarget) About() About {
	return About{
		Place: "the test", Engineer: "ada", TeamsFile: "teams.yaml", Kubectl: "kubectl --kubeconfig x", Reconnect: "look at the network", Call: func(command string) string { return "strata " + command },
		Ready: time.Minute, Poll: time.Millisecond, Patience: time.Minute, Limit: time.Minute,
	}
}
func (t *testTarget) Teams() ([]teams.Team, error) { return []teams.Team{{Name: "web"}}, nil }

func (t *testTarget) Tenants() ([]teams.Team, error) {
	return []teams.Team{{Name: "web"}, teams.Offer{Name: "database"}.Team()}, nil
}
func (t *testTarget) Exists() bool { return true }
func (t *testTarget) Check() Step  { return Step{Name: "checks", Do: nothing} }
func (t *testTarget) Lock() (func(), error) {
	t.log("lock")
	return func() { t.log("unlock") }, t.locked
}
func (t *testTarget) Prepare(repositories bool) []Step {
	return []Step{{Name: "prepare", Do: func(context.Context, *progress.Reporter) (string, error) {
		t.log(fmt.Sprintf("prepare(%t)", repositories))
		return "", nil
	}}}
}
func (t *testTarget) Journal() Journal                       { return &t.journal }
func (t *testTarget) Made(string) bool                       { return !t.neverMade }
func (t *testTarget) Alive(context.Context) error            { return nil }
func (t *testTarget) Finish(context.Context, bool) []Step    { return t.finish }
func (t *testTarget) Next(context.Context) ([]string, error) { return nil, nil }
func (t *testTarget) Complete(context.Context, *Plan, []apitype.ResourceV3, bool) error {
	return nil
}
func (t *testTarget) Open(_ context.Context, layer string) (Run, error) {
	return Run{Layer: layers.Layer{Name: layer}, Runner: t.runnerOf(), Refreshes: t.refreshes}, nil
}
func (t *testTarget) Hold(ctx context.Context, layer string) (Run, func(), error) {
	t.log("hold")
	run, err := t.Open(ctx, layer)
	return run, func() { t.log("release") }, err
}
func (t *testTarget) Instance(_ context.Context, name string) (string, error) { return name, nil }
func (t *testTarget) Below(context.Context) ([]status.Item, *rest.Config, error) {
	return slices.Clone(t.below), t.readable, nil
}
func (t *testTarget) Heads([]teams.Team) map[string]string {
	return map[string]string{"team-web/web": "main@sha1:1"}
}

func (t *testTarget) State(_ context.Context, layer string) (apitype.DeploymentV3, error) {
	return apitype.DeploymentV3{Resources: t.states[layer], PendingOperations: t.pending}, t.unreadable
}

func (t *testTarget) Config(context.Context, bool) (*rest.Config, error) {
	return &rest.Config{Host: t.cluster.URL}, nil
}

func nothing(context.Context, *progress.Reporter) (string, error) { return "", nil }

// testJournal is a journal in memory.
type testJournal struct {
	step  string
	begun bool

	upgradeTo, upgradeStep string
}

func (j *testJournal) BeginDown(step string) error {
	j.step, j.begun = step, true
	return nil
}
func (j *testJournal) DownBegun() (string, bool) { return j.step, j.begun }
func (j *testJournal) EndDown() error {
	j.step, j.begun = "", false
	return nil
}

func (t *testTarget) log(event string) { t.events = append(t.events, event) }

func (t *testTarget) runnerOf() *testRunner {
	t.runner.log = t.log
	return &t.runner
}

// testRunner notes the operations that it is asked for.
type testRunner struct {
	done []string
	log  func(string)
}

func (r *testRunner) note(operation string) (layers.Summary, error) {
	r.done = append(r.done, operation)
	r.log(operation)
	return layers.Summary{}, nil
}

func (r *testRunner) Up(context.Context, layers.Layer, layers.Progress) (layers.Summary, error) {
	return r.note("up")
}

func (r *testRunner) Preview(context.Context, layers.Layer, layers.Progress) (layers.Summary, error) {
	return r.note("preview")
}

func (r *testRunner) Refresh(context.Context, layers.Layer, layers.Progress) error {
	_, err := r.note("refresh")
	return err
}

func (r *testRunner) Destroy(context.Context, layers.Layer, layers.Progress) (layers.Summary, error) {
	return r.note("destroy")
}

func (r *testRunner) Outputs(context.Context, layers.Layer) (auto.OutputMap, error) { return nil, nil }

func (r *testRunner) MaskedOutputs(context.Context, layers.Layer) (map[string]any, error) {
	return nil, nil
}

func (t *testTarget) Offered(context.Context) (skew.Offered, error) {
	return skew.Offered{Strata: buildinfo.Version}, nil
}

func (j *testJournal) BeginUpgrade(to, step string) error {
	j.upgradeTo, j.upgradeStep = to, step
	return nil
}
func (j *testJournal) UpgradeBegun() (to, step string, begun bool) {
	return j.upgradeTo, j.upgradeStep, j.upgradeTo != ""
}
func (j *testJournal) EndUpgrade() error {
	j.upgradeTo, j.upgradeStep = "", ""
	return nil
}

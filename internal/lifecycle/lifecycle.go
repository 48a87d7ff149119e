// Package lifecycle creates and deletes a platform layer by layer, in the same order and with the same guards on every
// target. A [Target] runs the layers, connects to the cluster, and prepares and stops the machine.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle/early"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/teardown"
	"github.com/strata-platform/strata/teams"
)

// Target is a place where a platform runs.
type Target interface {
	Host
	Layers
	Cluster

	// Offered returns the versions that this strata and the configuration of layer 2 bring. It starts nothing.
	Offered(ctx context.Context) (skew.Offered, error)
	// About describes the target.
	About() About
	// Teams reads the teams of teams.yaml. Their members are people.
	Teams() ([]teams.Team, error)
	// Tenants returns all owners of a namespace, an identity and a state: the teams, and after them the platform's own team
	// of each entry of the catalogue, whose account is nobody's to use.
	Tenants() ([]teams.Team, error)
}

// About describes a target to people, and bounds the waits on it.
type About struct {
	// Place names the platform, for example "the platform in /home/ada/.strata".
	Place string
	// Engineer is the identity that runs layer 1. Operator describes the operator of layer 3.
	Engineer, Operator string
	// TeamsFile is the path of teams.yaml.
	TeamsFile string
	// Call returns the command line of strata for this platform, for example "strata up --target gke" for "up".
	Call func(command string) string
	// Kubectl begins a command line of kubectl for the cluster. FluxLogs shows the log of kustomize-controller. Purge is the
	// command that deletes everything regardless of blockers; empty if there is none.
	Kubectl, FluxLogs, Purge string

	// Unprotect says how to remove the protection of layer 1's resources, for example "run `...`". Reconnect says what to do
	// if the cluster does not answer.
	Unprotect, Reconnect string

	// Ready limits the wait for a ready platform, and Poll is the interval between two looks at it.
	Ready, Poll time.Duration
	// Patience is how long a deletion may go without progress before it is reported. Limit bounds each wait for deletions.
	Patience, Limit time.Duration
}

// Host is the machine of the layers, with the processes beside them.
type Host interface {
	// Exists reports whether there may be a platform.
	Exists() bool
	// Check returns the step that checks the requirements of up. The step changes nothing.
	Check() Step
	// Lock keeps other commands from changing the platform until release is called.
	Lock() (release func(), err error)
	// Prepare returns the steps before a run of a layer. With repositories, they also update the platform's repositories.
	Prepare(repositories bool) []Step
	// Finish returns the steps after the destruction of layer 1. With purge, they also delete the data that Strata otherwise
	// keeps.
	Finish(ctx context.Context, purge bool) []Step
	// Journal returns the record of down.
	Journal() Journal
	// Complete adds the losses, the remains and the unreadable parts to the plan of down. first is layer 1's resources; it is
	// empty if its state cannot be read.
	Complete(ctx context.Context, plan *Plan, first []apitype.ResourceV3, purge bool) error
	// Next returns commands to try after up.
	Next(ctx context.Context) ([]string, error)
}

// Layers runs layers.
type Layers interface {
	// Made reports whether a layer may have resources.
	Made(layer string) bool
	// Open returns a layer whose outputs can be read.
	Open(ctx context.Context, layer string) (Run, error)
	// Hold returns a layer that can run, in the environment of a run. It keeps other runs out until release is called.
	Hold(ctx context.Context, layer string) (run Run, release func(), err error)
	// State returns the state of a layer's stack; empty if the layer has not run. It starts nothing.
	State(ctx context.Context, layer string) (apitype.DeploymentV3, error)
	// Instance describes the database instance of layer 1, by its name.
	Instance(ctx context.Context, name string) (string, error)
}

// Run is a layer with its runner. The functions may be nil.
type Run struct {
	Layer  layers.Layer
	Runner Runner
	// Refreshes says that the Runner's Up and Preview read the existing resources themselves.
	Refreshes bool

	// BeforeUp is called before an up changes anything. AfterDestroy is called after all resources are destroyed.
	BeforeUp, AfterDestroy func(ctx context.Context) error
	// Began is called before an operation that may change resources, and returns a function to be called with its end.
	Began func(ctx context.Context, operation string) (ended func(layers.Summary, error))
	// Drift names what somebody has changed and no preview of the engine sees, one clause each, such as "Deployment
	// flux-system/source-controller is missing". Mend undoes it, and returns what it has undone.
	Drift, Mend func(ctx context.Context) ([]string, error)
	// Forget is called when down has destroyed the layer.
	Forget func() error
	// Above returns the layer above, for a run whose Pulumi engine starts while this layer runs; ok is false if the next run
	// of that layer is more than a run of its engine: its stack is new or interrupted, or its configuration has changed. The
	// caller holds this layer, and calls remove when both runs have ended. Nil means that the target runs one layer at a time.
	Above func(ctx context.Context) (run Run, remove func(), ok bool)
}

// Runner runs a layer, as [layers.Runner] does.
type Runner = early.Runner

// Cluster reaches the cluster of layer 1.
type Cluster interface {
	// Config returns the administrator's client configuration, or nil if there is no cluster. If the cluster is stopped,
	// Config starts it if start is true, and otherwise returns [ErrStopped].
	Config(ctx context.Context, start bool) (*rest.Config, error)
	// Below returns the status items of layer 1, with the cluster as the last one, and the client configuration of the
	// cluster. The configuration is nil if the cluster cannot be read; an item then gives the reason. Below starts nothing.
	Below(ctx context.Context) (items []status.Item, config *rest.Config, err error)
	// Heads maps the sources of layer 2 to the latest commits of their branches, in the form of graph.Scope; nil if the
	// target does not know the commits.
	Heads(list []teams.Team) map[string]string
	// Alive returns an error if the platform can no longer become ready.
	Alive(ctx context.Context) error
}

// ErrStopped means that there is a cluster, but it does not run.
var ErrStopped = errors.New("the cluster is stopped")

// Journal records the current step of down until layer 1 is destroyed or layer 2 is up again, and that of an upgrade until the
// upgrade or an up has finished.
type Journal interface {
	// BeginDown records the step that begins.
	BeginDown(step string) error
	// DownBegun returns the recorded step.
	DownBegun() (step string, begun bool)
	// EndDown removes the record.
	EndDown() error
	// BeginUpgrade records that the step of an upgrade to a version of Strata begins.
	BeginUpgrade(to, step string) error
	// UpgradeBegun returns the recorded step. A target without a record returns none.
	UpgradeBegun() (to, step string, begun bool)
	// EndUpgrade removes the record.
	EndUpgrade() error
}

// Platform is the platform of a target.
type Platform struct {
	Target
}

// New returns the platform of a target, whether or not it exists.
func New(target Target) *Platform { return &Platform{target} }

// Step is a step of up or down.
type Step struct {
	Name string
	// Do runs the step, and returns its result for people.
	Do func(ctx context.Context, show *progress.Reporter) (string, error)
	// What describes the step's work in a plan, for example "60 resources".
	What string

	// Applies marks the last step before the run of a layer. After that run, Flux applies layer 3 of this Strata.
	Applies bool
	// SkipAfterFailure marks a step of a purge that cannot succeed after a failed step.
	SkipAfterFailure bool
	// Required marks a step of a purge whose failure ends the purge. A purge continues after the failure of any other step.
	Required bool
}

// run runs steps until one fails.
func (p *Platform) run(ctx context.Context, show *progress.Reporter, steps []Step) error {
	for _, step := range steps {
		if err := show.Run(step.Name, func() (string, error) { return step.Do(ctx, show) }); err != nil {
			return p.interrupted(err)
		}
	}
	return nil
}

// interrupted replaces the error of an interrupted run by one that says what to do next.
func (p *Platform) interrupted(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	call := p.About().Call
	return fmt.Errorf("interrupted: run the same command again to continue, `%s` to create the whole platform, or `%s` to delete it", call("up"), call("down"))
}

// detail returns a Progress that shows the current operation.
func detail(show *progress.Reporter) layers.Progress {
	return func(operation, resource string) { show.Detail("%s %s", operation, resource) }
}

// waiting returns a function that shows what a teardown waits for.
func waiting(progress layers.Progress) teardown.Waiting {
	return func(what string) {
		if progress != nil {
			progress("waiting for the deletion of", what)
		}
	}
}

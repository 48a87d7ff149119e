package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/sandbox"
)

// Operation is an operation on a stack.
type Operation string

const (
	// Up creates, changes and deletes resources as the program says.
	Up Operation = "up"

	// Preview shows what Up would do.
	Preview Operation = "preview"

	// Refresh reads the actual state of the stack's resources into the stack's state.
	Refresh Operation = "refresh"

	// Drift compares the actual state of the stack's resources with what the last update left, and changes neither. For a file
	// backend, Drift works on a copy of the stack's state, so it may run at any time. Drift runs no program.
	Drift Operation = "drift"

	// Plan shows what Up would do, for a program that nobody has reviewed. The run sees no secret: it works on a copy of the
	// stack's state in which placeholders replace all secrets, the values of SecretConfig are placeholders, and it gets no
	// variable of Env whose value is in Secrets. The engine itself reads the state, with the passphrase in Env. Plan takes no lock
	// and changes nothing. Without a Program, Plan shows the deletion of all resources. The caller chooses an identity, by
	// Kubeconfig and Token, that may only read. Plan supports file backends, and with StateEnv other ones.
	Plan Operation = "plan"

	// Export reads the stack's state, in which secrets are encrypted. Export runs no program, and takes no lock.
	Export Operation = "export"

	// Destroy deletes the stack's resources. The empty stack stays in its backend.
	Destroy Operation = "destroy"
)

// Source provides a project's files. Package source has implementations.
type Source interface {
	// Fetch writes the files into dst, an empty folder, and returns their revision.
	Fetch(ctx context.Context, dst string) (revision string, err error)
}

// Request describes a run. Stack and Operation are required. Project is required unless
// Source is set.
type Request struct {
	Operation Operation

	// Project is the name of the Pulumi project. If Source is set, the name in its
	// Pulumi.yaml counts; Project must then be empty or equal to that name.
	Project string

	// Program is the content of Pulumi.yaml. Destroy, Drift, Plan and Export need none. Program and Source
	// exclude each other.
	Program []byte

	// Source fetches the project into the run's folder.
	Source Source

	// Path is the folder that holds Pulumi.yaml, relative to the root of Source. An empty
	// Path means that root. The run may read all of Source.
	Path string

	// Allowed restricts what the project may declare. A nil Allowed restricts nothing.
	Allowed *project.Allowed

	// Stack is the stack's name, optionally qualified by an organization. Up and Preview
	// create a missing stack unless NoCreate is set.
	Stack    string
	NoCreate bool

	// New says that the stack probably does not exist. The engine then creates the stack
	// without looking for it first. If the guess is right, this saves a call of pulumi.
	New bool

	// Unproven says that no run of the caller has succeeded on the stack. If Up or Preview then finds the stack in the backend, the
	// engine first reads the actual state of its resources, as with Refresh: the stack is older than the caller's record of it,
	// and may be older than the cluster.
	Unproven bool

	// Backend is the address of the state backend. If Backend is empty, PULUMI_BACKEND_URL in Env counts. Up and Preview create the
	// folder of a file backend if it does not exist.
	Backend string

	// BackendFolder is the folder in which a file backend must lie. If it is empty, the engine refuses every file backend.
	BackendFolder string

	// StateRoot is the folder that contains BackendFolder and the backend folders of other teams. After an interrupted run, the
	// engine adopts an object only if no state below StateRoot shows that the object belongs to another stack. If StateRoot is
	// empty, the engine does not check other stacks.
	StateRoot string

	// SecretsProvider is the secrets provider of a stack that the run creates. If it is empty, the backend's default applies.
	SecretsProvider string

	// Config holds config values as JSON. SecretConfig holds secret values as text. Keys
	// without a namespace belong to the project's namespace.
	Config       map[string]json.RawMessage
	SecretConfig map[string]string

	// Env holds the run's environment variables by name.
	Env map[string]string

	// State is the state that a Plan starts from, as an Export returned it; empty and not nil for a stack that does not exist. If State is
	// nil, the stack must have a file backend.
	State []byte

	// Reveal makes an Export return the secrets in plain text. A Plan can start from such a state, whatever provider encrypts it.
	Reveal bool

	// Secrets lists values that the engine masks in messages and logs. The engine masks the values of SecretConfig, too.
	Secrets []string

	// Endpoints are addresses that the run reaches besides those of the engine. Without the engine's, the run shares the network of this
	// process, and Endpoints have no effect.
	Endpoints []sandbox.Endpoint

	// Kubeconfig is the content of the file that KUBECONFIG names. If Kubeconfig is nil,
	// the run has no access to a cluster.
	Kubeconfig []byte

	// Refresh reads the actual state before Up, Preview and Destroy.
	Refresh bool

	// ExpectNoRefreshChanges makes the run fail if this refresh finds a change.
	ExpectNoRefreshChanges bool

	// RunProgram runs the program for Destroy and Refresh.
	RunProgram bool

	// Targets limits the operation to resources with these URNs, and with
	// TargetDependents to those that depend on them.
	Targets          []string
	TargetDependents bool

	// Options are further settings of the pulumi command.
	Options Options

	// Token, if set, returns a token and the duration after which to renew it. The engine writes the token to the file "token" in the
	// run's folder, which the field tokenFile in Kubeconfig names. The engine calls Token before the run, and again whenever the duration
	// has passed. The run's Kubernetes clients reread the file by themselves. The engine masks the tokens like Secrets.
	Token func(context.Context) (token string, renew time.Duration, err error)

	// Google, if set, is the run's identity in Google Cloud, unless Env has GOOGLE_CREDENTIALS. The engine keeps its token as it keeps Token.
	Google *keyless.Login

	// Begin, if set, gets the project's name before the engine changes the stack. If Begin
	// returns an error, the run ends with that error.
	Begin func(project string) error

	// Approve, if set, gets what Up or Destroy would do, right before it: the result of a preview with the same program, inputs and
	// identity. If Approve returns an error, the run ends with that error and changes no resource. If Risks is set, the engine
	// previews only a stack whose state has a resource of a type that Risks accepts, or whose state it cannot read.
	Approve func(ctx context.Context, planned *events.Plan) error
	Risks   func(resourceType string) bool

	// Named, if set, returns how users know another stack of the team, for the message about a database that this stack owns:
	// for example "Stack shop". By default, the message contains the names of the project and the stack.
	Named func(project, stack string) string

	// Working, if set, gets the name and type of each resource that the operation has begun and not finished. The engine calls
	// it every ReportEvery, and never after the operation has ended.
	Working     func(resources []string)
	ReportEvery time.Duration

	// Printed, if set, gets what the run's commands have printed, as [runlog.Log.Text] returns it, when the operation has ended. The
	// engine does not call it for a run that ends before its operation begins.
	Printed func(text string)

	// Changed, if set, gets the resources that an ended operation reports to have changed, and how many more, even if it has failed.
	Changed func(found []events.Change, more int)

	// Interrupted says that the caller's previous run of this stack was interrupted. The engine then removes the lock that the run left,
	// and never the lock of anyone else. Before the operation, the engine determines what became of the run's pending operations on
	// resources, so that it neither creates a resource twice nor leaves one behind.
	Interrupted bool
}

// validate rejects requests that would fail later with a less clear error.
func (r Request) validate() error {
	switch r.Operation {
	case Up, Preview, Plan, Refresh, Destroy, Drift, Export:
	default:
		return fmt.Errorf("operation %q is unknown: use up, preview, plan, refresh, drift, export or destroy", r.Operation)
	}
	if r.Program != nil && r.Source != nil {
		return errors.New("both Program and Source: a project comes from one place")
	}
	if r.Project == "" && r.Source == nil {
		return errors.New("no project: every stack belongs to a Pulumi project")
	}
	return r.checkNames()
}

// CheckBackend returns an error if the request may not use its backend. CheckBackend
// changes nothing.
func (r Request) CheckBackend() error {
	_, err := r.backend()
	return err
}

// backend determines and checks the request's backend.
func (r Request) backend() (backend.Backend, error) {
	return backend.Choice{Stack: r.Stack, Address: r.Backend, Env: r.Env, Folder: r.BackendFolder}.Locate()
}

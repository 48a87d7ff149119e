// Package engine runs one Pulumi stack. The engine writes the program into a new folder
// and runs the pulumi command with an environment built from nothing. The engine
// returns the stack's outputs, or the reason for a failure in one line.
package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/sandbox"
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

	// Destroy deletes the stack's resources. The empty stack stays in its backend.
	Destroy Operation = "destroy"
)

// Engine runs stacks. An Engine may run several stacks concurrently, but must not run
// the same stack twice at once.
//
// If [CanConfine] returns nil, a run sees only the files that it needs, and no other
// process. The files are the run's own folder and the request's BackendFolder, and,
// read-only, the programs on PATH and the system files that every user may read.
type Engine struct {
	// WorkDir is the folder that holds one folder per run. The engine removes a run's
	// folder when the run ends. If WorkDir is empty, the engine uses the system's folder
	// for temporary files.
	WorkDir string

	// Env lists the variables (NAME=value) that the engine adds to the environment of
	// every run. PATH is the search path for pulumi, its language hosts and its plugins;
	// the rest is what the target needs. A run inherits no other variable from this
	// process.
	Env []string

	// Endpoints lists the addresses (HOST:PORT) that runs can reach. If Endpoints is
	// empty, runs share this process's network.
	Endpoints []string

	// Cache is a folder that only [Engine.Prepare] writes. Runs can read it and cannot
	// change it.
	Cache string

	// shared is the folder in Cache that runs use. shared is nil until Prepare has filled
	// the folder.
	shared atomic.Pointer[string]

	crypters crypters

	// removing allows one removal in the background at a time.
	removing sync.Mutex
}

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

	// Program is the content of Pulumi.yaml. Destroy needs none. Program and Source
	// exclude each other.
	Program []byte

	// Source fetches the project into the run's folder.
	Source Source

	// Path is the folder that holds Pulumi.yaml, relative to the root of Source. An empty
	// Path means that root. The run may read all of Source.
	Path string

	// Allowed restricts what the project may declare. A nil Allowed restricts nothing.
	Allowed *Allowed

	// Stack is the stack's name, optionally qualified by an organization. Up and Preview
	// create a missing stack unless NoCreate is set.
	Stack    string
	NoCreate bool

	// New says that the stack probably does not exist. The engine then creates the stack
	// without looking for it first. If the guess is right, this saves a call of pulumi.
	New bool

	// Backend is the address of the state backend. If Backend is empty, PULUMI_BACKEND_URL
	// in Env counts. Up and Preview create the folder of a file backend if it does not
	// exist.
	Backend string

	// BackendFolder is the folder in which a file backend must lie. If BackendFolder is
	// empty, the engine refuses every file backend.
	BackendFolder string

	// StateRoot is the folder that contains BackendFolder and the backend folders of other teams. After an interrupted run, the
	// engine adopts an object only if no state below StateRoot shows that the object belongs to another stack. If StateRoot is
	// empty, the engine does not check other stacks.
	StateRoot string

	// SecretsProvider is the secrets provider of a stack that the run creates. If
	// SecretsProvider is empty, the backend's default applies.
	SecretsProvider string

	// Config holds config values as JSON. SecretConfig holds secret values as text. Keys
	// without a namespace belong to the project's namespace.
	Config       map[string]json.RawMessage
	SecretConfig map[string]string

	// Env holds the run's environment variables by name.
	Env map[string]string

	// Secrets lists values that the engine masks in messages and logs. The engine masks
	// the values of SecretConfig, too.
	Secrets []string

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

	// Options are settings of the pulumi command beyond the above.
	Options Options

	// Token, if set, returns a token and the duration after which to renew it. The engine
	// writes the token to the file "token" in the run's folder, which the field tokenFile
	// in Kubeconfig names. The engine calls Token before the run, and again whenever the
	// duration has passed. The run's Kubernetes clients reread the file by themselves. The
	// engine masks the tokens like Secrets.
	Token func(context.Context) (token string, renew time.Duration, err error)

	// Begin, if set, gets the project's name before the engine changes the stack. If Begin
	// returns an error, the run ends with that error.
	Begin func(project string) error

	// Working, if set, gets the name and type of each resource that the operation has begun and not finished. The engine calls
	// it every ReportEvery, and never after the operation has ended.
	Working     func(resources []string)
	ReportEvery time.Duration

	// Interrupted says that the caller's previous run of this stack was interrupted. The
	// engine then removes the lock that the run left, and never the lock of anyone else.
	// Before the operation, the engine determines what became of the run's pending
	// operations on resources, so that it neither creates a resource twice nor leaves one
	// behind.
	Interrupted bool
}

// Result is the result of a successful run.
type Result struct {
	// Project and Runtime are the project's name and language.
	Project, Runtime string

	// Revision is the revision that the Source returned.
	Revision string

	// Outputs holds the stack's outputs by name.
	Outputs map[string]Output

	// Changes counts the resources by the step that Pulumi took: create, update, delete,
	// same and so on.
	Changes map[string]int

	// Log is the end of pulumi's output.
	Log string

	// Warnings lists, in one line each, what somebody should check: resources of an
	// interrupted run that may exist although the state does not list them.
	Warnings []string
}

// Output is one output of a stack.
type Output struct {
	// Value is the output's value as JSON. Value is nil for a secret.
	Value json.RawMessage

	// Secret says that the value is a secret or contains one.
	Secret bool
}

// Run runs one operation. When ctx ends, Run lets pulumi stop in good order: pulumi
// then saves the state and releases the lock. Errors after the preparation of the run
// are of type [*Error].
func (e *Engine) Run(ctx context.Context, req Request) (*Result, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	backend, err := prepareBackend(req)
	if err != nil {
		return nil, err
	}
	network, err := e.network()
	if err != nil {
		return nil, err
	}
	dir, err := e.MakeFolder()
	if err != nil {
		return nil, fmt.Errorf("make folder of run: %w", err)
	}
	defer e.RemoveFolder(dir)

	env, err := e.environment(dir, backend.address, req)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder of run: %w", err)
	}
	r := &run{
		Request: req, dir: dir, root: root, env: env, network: network, mask: newMask(req),
		local: backend.folder != "", stateFolder: backend.folder, crypters: &e.crypters,
	}
	defer r.close()
	for _, step := range []func() error{
		r.write,
		func() error { return r.fetch(ctx) },
		r.boundState,
		func() error { return r.share(e.shared.Load()) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	stop, err := r.keepToken(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	if r.Begin != nil {
		if err := r.Begin(r.Project); err != nil {
			return nil, err
		}
	}
	result, err := r.operate(ctx)
	if failure := asError(err); failure != nil {
		failure.Warnings = r.warnings
		r.explain(failure)
	}
	if err != nil {
		return nil, err
	}
	result.Warnings = r.warnings
	result.Project, result.Runtime, result.Revision = r.Project, r.project.runtime(), r.revision
	return result, nil
}

// close closes the run's folders.
func (r *run) close() {
	if r.files != nil {
		_ = r.files.Close()
	}
	_ = r.root.Close()
}

// MakeFolder creates a folder in WorkDir, for a run or for a step before one, and
// returns its absolute path. The caller removes the folder by [Engine.RemoveFolder].
// [Engine.Clean] removes folders that a caller did not remove.
func (e *Engine) MakeFolder() (string, error) {
	if e.WorkDir != "" {
		if err := os.MkdirAll(e.WorkDir, 0o700); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(e.WorkDir, runPrefix)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// run is a run of one operation in its own folder.
type run struct {
	Request

	// root is the opened folder dir, and files the opened folder of the project's files in
	// dir. The engine opens both before it starts a command, so a run cannot redirect the
	// engine by replacing them with links.
	dir   string
	root  *os.Root
	files *os.Root

	env  []string
	mask *message.Mask

	// project describes the project's Pulumi.yaml, workDir is the folder that holds this
	// file, and revision is the revision that the source returned.
	project  project
	workDir  string
	revision string

	// network is the network of the run. network is nil if the run shares the network of
	// this process.
	network *sandbox.Network

	// shared is the folder with the plugins' schemas. shared is empty if the run
	// determines them itself.
	shared string

	// warnings are the warnings of the [Result] or the [Error].
	warnings []string

	// recovered says that the engine has resolved the pending operations of an interrupted
	// run.
	recovered bool

	// local says that the run has a file backend. The stack's state lies in the folder
	// stateFolder below the request's BackendFolder.
	local       bool
	stateFolder string

	crypters *crypters
}

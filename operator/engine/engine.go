// Package engine runs one Pulumi stack: it writes the program into a folder of
// its own, calls the pulumi command in an environment built from nothing, and
// reports the outputs, or the reason of the failure in one line.
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

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

// Operation is what to do with a stack.
type Operation string

const (
	// Up creates, changes and deletes resources as the program says.
	Up Operation = "up"

	// Preview shows what Up would do.
	Preview Operation = "preview"

	// Refresh reads the actual state of the stack's resources.
	Refresh Operation = "refresh"

	// Destroy deletes the stack's resources. The stack itself, empty, stays in
	// its backend.
	Destroy Operation = "destroy"
)

// Engine runs stacks. It may run several at once, but must not run the same
// stack twice at once.
//
// A run sees the files that it needs and no other process, wherever [CanConfine] finds
// that this system is able to confine it. The files are its own folder, the BackendFolder
// of the request, and for reading the programs on PATH and what the system offers to
// everyone.
type Engine struct {
	// WorkDir holds one folder per run, which is removed when the run ends. The
	// system's folder for temporary files when empty.
	WorkDir string

	// Env lists the variables (NAME=value) that every run gets besides its own:
	// PATH, on which pulumi, its language hosts and plugins are found, and what
	// the target asks for. A run sees nothing else of this process's environment.
	Env []string

	// Endpoints are the addresses (HOST:PORT) that runs reach. When empty, runs share this
	// process's network.
	Endpoints []string

	// Cache is a folder for what [Engine.Prepare] keeps, and for nothing else. Runs
	// read it and cannot change it.
	Cache string

	// shared is the folder in Cache that runs use, nil until it is prepared.
	shared atomic.Pointer[string]

	crypters crypters

	// removing is held by the one removal that goes on in the background.
	removing sync.Mutex
}

// Source is where a project's files come from; package source has some.
type Source interface {
	// Fetch puts the files into dst, an empty folder, and says which revision they
	// are.
	Fetch(ctx context.Context, dst string) (revision string, err error)
}

// Request says what to run. Stack and Operation are required, and Project where
// there is no Source.
type Request struct {
	Operation Operation

	// Project is the name of the Pulumi project. With a Source the name in
	// its Pulumi.yaml counts, and Project, if set, must be the same.
	Project string

	// Program is the content of Pulumi.yaml. Destroy needs none. It excludes Source.
	Program []byte

	// Source fetches the project into the run's folder.
	Source Source

	// Path is the folder of Source that holds Pulumi.yaml, relative to it; its root
	// when empty. The run may read all of Source.
	Path string

	// Allowed bounds what the project may declare; nil bounds nothing.
	Allowed *Allowed

	// Stack is the stack's name, optionally qualified by an organization. It is
	// created when missing, unless NoCreate is set.
	Stack    string
	NoCreate bool

	// New says that the stack is probably missing. It is then created before it is
	// looked for, which saves a call where the guess is right.
	New bool

	// Backend is the address of the state backend. When empty, PULUMI_BACKEND_URL
	// in Env counts. The folder of a file backend is created when missing.
	Backend string

	// BackendFolder is the folder in which a file backend must lie. Without it
	// every file backend is refused.
	BackendFolder string

	// StateRoot is the folder that BackendFolder and those of others lie in. What an interrupted run may have made is not
	// taken over where a state there shows that it is another stack's. Nothing is known of others without it.
	StateRoot string

	// SecretsProvider encrypts the secrets of a stack that is being created. The
	// backend's default when empty.
	SecretsProvider string

	// Config holds config values as JSON; SecretConfig holds secret ones. Keys
	// without a namespace belong to the project.
	Config       map[string]json.RawMessage
	SecretConfig map[string]string

	// Env holds the run's environment variables.
	Env map[string]string

	// Secrets lists values that must not appear in messages and logs. Those in
	// SecretConfig count without being listed.
	Secrets []string

	// Kubeconfig is the content of the file that KUBECONFIG names. Without it the
	// run has no access to a cluster.
	Kubeconfig []byte

	// Refresh reads the actual state first, for Up, Preview and Destroy.
	Refresh bool

	// ExpectNoRefreshChanges fails the run when that refresh finds a change.
	ExpectNoRefreshChanges bool

	// RunProgram runs the program for Destroy and Refresh.
	RunProgram bool

	// Targets limits the operation to resources with these URNs, and with
	// TargetDependents to those that depend on them.
	Targets          []string
	TargetDependents bool

	// Options are settings of the pulumi command beyond the above.
	Options Options

	// Token, when set, gives the token of the file "token" that Kubeconfig refers to
	// by that name as tokenFile. It is asked before the run and each time that the
	// duration has passed that it gave with the token; the run's Kubernetes clients
	// read the file anew by themselves. Its tokens are hidden as Secrets are.
	Token func(context.Context) (token string, renew time.Duration, err error)

	// Begin, when set, is told the project before anything is done to the stack. The
	// run ends with its error.
	Begin func(project string) error

	// Working, when set, is told every ReportEvery which resources the operation has begun and not done, by name and type.
	// No call goes on when the run has ended.
	Working     func(resources []string)
	ReportEvery time.Duration

	// Interrupted says that the caller's previous run of this stack was cut off.
	// A lock that it left is then removed; a lock of anyone else never is. What it
	// was doing to resources is found out first, so that none is made twice or left
	// behind.
	Interrupted bool
}

// Result is what a successful run leaves.
type Result struct {
	// Project and Runtime are the project's name and language.
	Project, Runtime string

	// Revision is what the Source said that it fetched.
	Revision string

	// Outputs holds the stack's outputs by name.
	Outputs map[string]Output

	// Changes counts the resources by what was done to them: create, update,
	// delete, same and so on.
	Changes map[string]int

	// Log is the end of what pulumi printed.
	Log string

	// Warnings say, each in one line, what somebody should look at: resources of
	// which an interrupted run may have left more than the state knows.
	Warnings []string
}

// Output is one output of a stack.
type Output struct {
	// Value is the value as JSON, nil for a secret.
	Value json.RawMessage

	// Secret says that the value is, or holds, a secret.
	Secret bool
}

// Run runs one operation. When ctx ends it lets pulumi stop in good order, which
// saves the state and releases the lock. Its errors are of type [*Error], but
// for those of preparing the run.
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

// close lets the run's folders go.
func (r *run) close() {
	if r.files != nil {
		_ = r.files.Close()
	}
	_ = r.root.Close()
}

// MakeFolder makes a folder in WorkDir, for a run or for what precedes one, and
// returns its absolute path. Whoever calls it removes it by [Engine.RemoveFolder];
// where that did not happen, [Engine.Clean] does.
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

// run is one run in its folder.
type run struct {
	Request

	// root is the folder dir, and files the folder of the project's files in it. Both
	// were opened before anything ran: what a run puts in their place is not followed.
	dir   string
	root  *os.Root
	files *os.Root

	env  []string
	mask *mask

	// project is what the files are, workDir the folder that holds its Pulumi.yaml, and
	// revision what its source said.
	project  project
	workDir  string
	revision string

	// network is what the run reaches, nil for all that this process reaches.
	network *sandbox.Network

	// shared is the folder with what is known of the plugins, empty where each run
	// finds it out.
	shared string

	// warnings are for the caller.
	warnings []string

	// recovered says that an interrupted run's operations are resolved.
	recovered bool

	// local says that the state lies in the request's BackendFolder, in the folder
	// stateFolder.
	local       bool
	stateFolder string

	crypters *crypters
}

// Package engine runs one Pulumi stack. The engine writes the program into a new folder
// and runs the pulumi command with an environment built from nothing. The engine
// returns the stack's outputs, or the reason for a failure in one line.
package engine

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/explain"
	"github.com/strata-platform/strata/operator/engine/layout"
	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/owners"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/redact"
	"github.com/strata-platform/strata/operator/engine/runlog"
	"github.com/strata-platform/strata/operator/engine/settings"
	"github.com/strata-platform/strata/operator/engine/token"
	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/operator/sandbox"
)

// Engine runs stacks. An Engine may run several stacks concurrently, but must not run
// the same stack twice at once.
//
// If [CanConfine] returns nil, a run sees only the files that it needs, and no other
// process. The files are the run's own folder and the request's BackendFolder, and,
// read-only, the programs on PATH and the system files that every user may read.
type Engine struct {
	// Folders creates the folder of each run. The engine removes a run's folder when the run
	// ends. Folders is required.
	Folders *workdir.Folders

	// Env lists the variables (NAME=value) that the engine adds to the environment of
	// every run. PATH is the search path for pulumi, its language hosts and its plugins;
	// the rest is what the target needs. A run inherits no other variable from this
	// process.
	Env []string

	// Endpoints lists the addresses (HOST:PORT) that runs can reach. If Endpoints is
	// empty, runs share this process's network.
	Endpoints []string

	// PlanEndpoints lists the addresses that plans can reach in place of Endpoints: nobody has reviewed their code. If it is empty,
	// plans reach what other runs reach.
	PlanEndpoints []string

	// PlainPlans makes plans read secrets as they are, because a placeholder differs from what an unchanged program computes. It is for
	// a platform whose secrets protect nothing, such as that of a rehearsal.
	PlainPlans bool

	// Cache is a folder that only [Engine.Prepare] writes. Runs can read it and cannot
	// change it.
	Cache string

	// shared is the folder in Cache that runs use. shared is nil until Prepare has filled the folder.
	shared atomic.Pointer[string]

	crypters settings.Crypters

	hider redact.Hider

	owners owners.Registry
}

// run is [Engine.Run] for a stack whose passphrase was former before the one in Env; former is empty without a rotation.
func (e *Engine) run(ctx context.Context, req Request, former string) (*Result, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	located, err := req.backend()
	if err != nil {
		return nil, err
	}
	if req.Operation == Up || req.Operation == Preview {
		if err := located.Create(req.BackendFolder); err != nil {
			return nil, err
		}
	}
	network, err := e.network(req)
	if err != nil {
		return nil, err
	}
	dir, err := e.Folders.Make()
	if err != nil {
		return nil, fmt.Errorf("make folder of run: %w", err)
	}
	defer e.Folders.Remove(dir)

	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder of run: %w", err)
	}
	if req.Google, req.Env, err = req.Google.Use(req.Env, filepath.Join(dir, token.GoogleFile)); err != nil {
		_ = root.Close()
		return nil, err
	}
	mask := newMask(req)
	located, hidden, err := e.copyState(ctx, located, root, dir, &req, former)
	if err != nil {
		_ = root.Close()
		return nil, stateError(req, err)
	}
	env, err := layout.Given{Base: e.Env, Request: req.Env, Backend: located.Address, Kubeconfig: req.Kubeconfig != nil}.Environment(dir)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	r := &run{
		Request: req, dir: dir, root: root, env: env, network: network, mask: mask,
		located: located, crypters: &e.crypters, hidden: hidden,
	}
	defer r.close()
	for _, step := range []func() error{
		func() error { return layout.Write(dir, req.Kubeconfig) },
		func() error { return r.fetch(ctx) },
		r.boundState,
		func() error { r.usePassphrase(e, former); return nil },
		func() error { return r.share(e.shared.Load()) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	end, err := r.own(ctx, &e.owners)
	defer end()
	if err != nil {
		return nil, err
	}
	stop, err := token.KeepAll(ctx, token.Keeper{Root: r.root, Mask: r.mask}, r.Token, r.Google)
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
	if r.Printed != nil {
		r.Printed(r.log.Text(func(text string) string { return r.source().Relative(r.mask.Apply(text)) }))
	}
	if failure := asError(err); failure != nil {
		failure.Warnings = r.warnings
		failure.Message = r.source().Message(failure.Message, failure.Log)
	}
	if err != nil {
		return nil, err
	}
	result.Warnings = r.warnings
	result.Project, result.Runtime, result.Revision = r.Project, r.project.Language(), r.revision
	return result, nil
}

// source returns the files that the messages of the run refer to.
func (r *run) source() explain.Run {
	return explain.Run{Dir: r.dir, Files: r.files, Project: r.project, FromSource: r.Source != nil, Program: r.Program}
}

// close closes the run's folders.
func (r *run) close() {
	if r.files != nil {
		_ = r.files.Close()
	}
	_ = r.root.Close()
}

// newMask returns a mask of the request's secrets and of the texts that its program marks as secret.
func newMask(req Request) *message.Mask {
	secrets := append(slices.Collect(maps.Values(req.SecretConfig)), req.Secrets...)
	return message.NewMask(append(secrets, message.LiteralSecrets(req.Program)...)...)
}

// run is a run of one operation in its own folder.
type run struct {
	Request

	// root is the opened folder dir, and files the opened folder of the project's files in dir. The engine opens both before it starts
	// a command, so a run cannot redirect the engine by replacing them with links.
	dir   string
	root  *os.Root
	files *os.Root

	env  []string
	mask *message.Mask

	// log is what the run's commands print.
	log runlog.Log

	// project describes the project's Pulumi.yaml, workDir is the folder that holds this
	// file, and revision is the revision that the source returned.
	project  project.Project
	workDir  string
	revision string

	// network is the network of the run. network is nil if the run shares the network of this process.
	network *sandbox.Network

	// shared is the folder with the plugins' schemas. shared is empty if the run determines them itself.
	shared string

	// warnings are the warnings of the [Result] or the [Error].
	warnings []string

	// recovered says that the engine has resolved the pending operations of an interrupted run.
	recovered bool

	// adopts says that the run continues from the state of an [Request.Unproven] stack.
	adopts bool

	// located locates the stack's state.
	located backend.Backend

	crypters *settings.Crypters

	// hidden is what a plan gets in place of secrets. It is nil for other operations.
	hidden *redact.Hidden
}

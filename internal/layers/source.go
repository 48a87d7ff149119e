package layers

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// source is the origin of a layer's program. It decides what Strata does for the program's stack, and what it leaves to an
// engineer.
type source interface {
	// open opens the stack with a pulumi command. If operation is true, the stack is for an operation only and cannot return
	// its outputs.
	open(ctx context.Context, r Runner, command auto.PulumiCommand, operation bool) (auto.Stack, error)
	// configure sets the configuration of the stack.
	configure(ctx context.Context, r Runner, stack auto.Stack) error
	// follow returns the Progress of a run. The caller calls stop after the run.
	follow(ctx context.Context, progress Progress) (followed Progress, stop func() bool)
	// settle settles the pending operations of a killed run. destroys says that a destroy follows.
	settle(ctx context.Context, r Runner, stack auto.Stack, progress Progress, log *os.File, destroys bool) error
	// destroy returns further options of a destroy. done is true if the error of a destroy means that there was nothing to do.
	destroy() (options []optdestroy.Option, done func(err error) bool)
	// advice returns what to do about pending operations after a failed run; empty if there are none.
	advice(ctx context.Context, r Runner, stack auto.Stack) string
}

// source returns the origin of the layer's program.
func (l Layer) source() source {
	switch {
	case l.Folder != "":
		return folder{l}
	case l.Executable != "":
		return compiled{inline{l}}
	}
	return inline{l}
}

// inline is a program in this process. Strata creates, configures, settles and removes its stack.
type inline struct{ Layer }

func (l inline) open(ctx context.Context, r Runner, command auto.PulumiCommand, operation bool) (auto.Stack, error) {
	return auto.UpsertStackInlineSource(ctx, r.Stack, l.Project, l.Program, auto.WorkDir(r.WorkDir(l.Name)), auto.EnvVars(r.Env),
		auto.Pulumi(l.sparing(r, command, operation)))
}

// sparing returns a pulumi command that skips calls with unused results.
func (l inline) sparing(r Runner, command auto.PulumiCommand, operation bool) auto.PulumiCommand {
	if !operation {
		return command
	}
	state, ok, err := r.stored(l.Layer)
	return sparing{command, err == nil && ok && len(state) > 0, true}
}

func (l inline) configure(ctx context.Context, r Runner, stack auto.Stack) error {
	sum, err := r.configSum(l.Layer)
	if err == nil && r.isConfigured(l.Layer, sum) {
		return nil
	}
	if err == nil {
		err = r.configure(ctx, stack, l.Config)
	}
	if err == nil {
		err = r.noteConfigured(l.Layer)
	}
	return err
}

func (inline) follow(_ context.Context, progress Progress) (Progress, func() bool) {
	return progress, func() bool { return true }
}

func (l inline) settle(ctx context.Context, r Runner, stack auto.Stack, progress Progress, log *os.File, destroys bool) error {
	return r.settle(ctx, l.Layer, stack, progress, log, destroys)
}

func (inline) destroy() ([]optdestroy.Option, func(error) bool) {
	return []optdestroy.Option{optdestroy.Remove()}, func(error) bool { return false }
}

func (inline) advice(context.Context, Runner, auto.Stack) string { return "" }

// compiled is like inline for a program in another process. Its project is in a folder of its own, because a program in this
// process would read the same project.
type compiled struct{ inline }

func (l compiled) open(ctx context.Context, r Runner, command auto.PulumiCommand, operation bool) (auto.Stack, error) {
	dir := filepath.Join(r.WorkDir(l.Name), "program")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return auto.Stack{}, err
	}
	project := workspace.Project{
		Name: tokens.PackageName(l.Project), Main: l.RunsIn,
		Runtime: workspace.NewProjectRuntimeInfo("go", map[string]any{"binary": l.Executable}),
	}
	return auto.UpsertStackLocalSource(ctx, r.Stack, dir, auto.Project(project), auto.EnvVars(r.Env), auto.Pulumi(l.sparing(r, command, operation)))
}

// folder is a project in a folder. The engineer creates and configures its stack, and keeps it after a destroy.
type folder struct{ Layer }

func (l folder) open(ctx context.Context, r Runner, command auto.PulumiCommand, operation bool) (auto.Stack, error) {
	// The engineer decides which stack is selected in the folder, so the selection must not change.
	return auto.SelectStackLocalSource(ctx, r.Stack, l.Folder, auto.EnvVars(r.Env), auto.Pulumi(sparing{command, true, operation}))
}

func (folder) configure(context.Context, Runner, auto.Stack) error { return nil }

func (folder) follow(ctx context.Context, progress Progress) (Progress, func() bool) {
	return patiently(ctx, progress)
}

// settle does nothing: on Google Cloud an engineer settles a stack with pulumi refresh, which asks about each resource.
func (folder) settle(context.Context, Runner, auto.Stack, Progress, *os.File, bool) error { return nil }

func (folder) destroy() ([]optdestroy.Option, func(error) bool) { return nil, NoStack }

func (l folder) advice(ctx context.Context, r Runner, stack auto.Stack) string {
	state, err := r.state(ctx, l.Layer, stack)
	if err != nil || !state.Interrupted() {
		return ""
	}
	return "; a killed run has left pending operations: run `" + r.Line(l.Name, "refresh") + "` and answer for each resource"
}

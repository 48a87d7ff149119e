// Package layers runs Pulumi layers through the Automation API: a program in this process, a compiled program, or the project
// of an engineer in its folder, with that engineer's login, stack and configuration.
package layers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/operator/engine/settle"
)

// Layer is a Pulumi program with its configuration, or a Pulumi project in a folder.
type Layer struct {
	// Name is the layer's name for people. Project is its Pulumi project.
	Name, Project string

	// Program is the program, which runs in this process.
	Program pulumi.RunFunc
	// Executable is the path of a compiled Go program that runs instead of Program, in the folder RunsIn.
	Executable, RunsIn string
	// Config is the complete configuration of the program's stack. It replaces the configuration of an earlier run.
	Config auto.ConfigMap

	// Folder is the folder of the project's Pulumi.yaml, instead of Program and Config. The stack must exist, and keeps its
	// configuration.
	Folder string
}

// Runner holds the environment in which layers run.
type Runner struct {
	// Stack is the name of the stack in every layer's project: the environment.
	Stack string
	// Pulumi returns the pulumi command, see [Command] and [Patient].
	Pulumi func() (auto.PulumiCommand, error)
	// Env holds the environment variables of every run, including the backend and the passphrase.
	Env map[string]string
	// WorkDir returns the folder for a layer's log, and for the project and the stack settings of a program.
	WorkDir func(layer string) string
	// Refreshes says that Up and Preview read each resource before they compare it, because the state may contain resources that no
	// longer exist. They use the credentials that the program gives to its providers: those in the state may lead to a lost cluster.
	// A refresh before the up is no substitute: with these credentials, the engine's refresh fails at a component that depends on a
	// missing resource ("whose registration isn't pending").
	Refreshes bool
	// Line returns the command line of pulumi for a layer's stack, for messages about the project in a folder.
	Line func(layer, command string) string
	// Unlock is called if another run holds the lock of a project's stack. It reports whether the lock is free now, so
	// that a retry can succeed. Nil means that the lock stays.
	Unlock func(ctx context.Context, project string) (bool, error)
	// Lost receives the pending creations of a killed run before they are settled. It deletes those of the created objects
	// that the next run would not find, such as keys, unless held reports that the state contains their ID. Nil does
	// nothing.
	Lost func(ctx context.Context, creations []settle.Creation, held func(id string) bool) error
}

// With returns a runner whose environment has additional variables. The runner itself keeps its environment.
func (r Runner) With(env map[string]string) Runner {
	all := maps.Clone(r.Env)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, env)
	r.Env = all
	return r
}

// WithTemp returns a runner whose programs use dir as the folder for temporary files, and creates dir. The Kubernetes plugin
// leaves kubeconfigs there, so concurrent runs, such as a preview during an up, must not share the folder, and remove
// deletes it.
func (r Runner) WithTemp(dir string) (private Runner, remove func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Runner{}, nil, fmt.Errorf("create the run's folder for temporary files: %w", err)
	}
	return r.With(map[string]string{"TMPDIR": dir}), func() { os.RemoveAll(dir) }, nil
}

// Summary is the result of an operation.
type Summary struct {
	// Changes counts resources by operation: create, update, delete, replace, same.
	Changes map[string]int
	// Engine is the time within Pulumi's engine. It excludes the steps before and after, such as setting the
	// configuration.
	Engine time.Duration
}

// String describes the changes, for example "12 created, 3 unchanged".
func (s Summary) String() string {
	names := []struct{ op, text string }{
		{"create", "created"}, {"update", "updated"}, {"replace", "replaced"}, {"delete", "deleted"}, {"same", "unchanged"},
	}
	var parts []string
	for _, n := range names {
		if count := s.Changes[n.op]; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, n.text))
		}
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

// Progress is called for every resource that an operation changes, with the operation ("create") and the resource's type
// and name. It is also called for every warning about a resource, with
// "warning:" and the text.
type Progress func(operation, resource string)

// Up brings a layer's resources to the state that its program declares.
func (r Runner) Up(ctx context.Context, l Layer, progress Progress) (Summary, error) {
	return r.run(ctx, l, progress, kind{settles: true}, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		options := []optup.Option{optup.EventStreams(stream), optup.SuppressOutputs(), optup.ProgressStreams(log), optup.ErrorProgressStreams(log)}
		if r.Refreshes {
			options = append(options, optup.Refresh(), optup.RunProgram(true))
		}
		_, err := stack.Up(ctx, options...)
		return err
	})
}

// Preview returns the changes that Up would make. It does not settle the pending operations of a killed run.
func (r Runner) Preview(ctx context.Context, l Layer, progress Progress) (Summary, error) {
	return r.run(ctx, l, progress, kind{}, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		options := []optpreview.Option{optpreview.EventStreams(stream), optpreview.ProgressStreams(log), optpreview.ErrorProgressStreams(log)}
		if r.Refreshes {
			options = append(options, optpreview.Refresh(), optpreview.RunProgram(true))
		}
		_, err := stack.Preview(ctx, options...)
		return err
	})
}

// Refresh updates the state of a layer from the existing resources, and changes no resource.
func (r Runner) Refresh(ctx context.Context, l Layer, progress Progress) error {
	_, err := r.run(ctx, l, progress, kind{settles: true, renewed: refreshing(ctx, true)}, refreshing(ctx, false))
	return err
}

// refreshing returns the operation of a refresh, with the credentials of the program or with those in the state.
func refreshing(ctx context.Context, runProgram bool) operation {
	return func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		_, err := stack.Refresh(ctx, optrefresh.EventStreams(stream), optrefresh.ProgressStreams(log), optrefresh.ErrorProgressStreams(log),
			optrefresh.RunProgram(runProgram))
		return err
	}
}

// RefreshTypes is Refresh for the resources of some types. It uses the credentials in the state, and fails if these have expired:
// a refresh of a part of the resources by the program can write a state that contains a resource twice (pulumi/pulumi#20215). A
// layer without such resources needs no refresh.
func (r Runner) RefreshTypes(ctx context.Context, l Layer, progress Progress, types ...string) error {
	state, err := r.Deployment(ctx, l)
	if err != nil {
		return err
	}
	var urns []string
	for _, resource := range state.Resources {
		if slices.Contains(types, string(resource.Type)) && !resource.Delete {
			urns = append(urns, string(resource.URN))
		}
	}
	if len(urns) == 0 {
		return nil
	}
	_, err = r.run(ctx, l, progress, kind{settles: true}, func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
		_, err := stack.Refresh(ctx, optrefresh.Target(urns), optrefresh.EventStreams(stream), optrefresh.ProgressStreams(log),
			optrefresh.ErrorProgressStreams(log), optrefresh.RunProgram(false))
		return err
	})
	return err
}

// Destroy deletes all resources of a layer. It also removes the stack of a program; the stack of a project in a folder
// stays, with its configuration. Without a stack there is nothing to do.
func (r Runner) Destroy(ctx context.Context, l Layer, progress Progress) (Summary, error) {
	more, done := l.source().destroy()
	destroy := func(runProgram bool) operation {
		return func(stack auto.Stack, stream chan<- events.EngineEvent, log *os.File) error {
			options := []optdestroy.Option{
				optdestroy.EventStreams(stream), optdestroy.ProgressStreams(log), optdestroy.ErrorProgressStreams(log), optdestroy.RunProgram(runProgram),
			}
			_, err := stack.Destroy(ctx, append(options, more...)...)
			return err
		}
	}
	summary, err := r.run(ctx, l, progress, kind{settles: true, destroys: true, renewed: destroy(true)}, destroy(false))
	if done(err) {
		return Summary{}, nil
	}
	return summary, err
}

// Prepare creates the stack if it does not exist, and sets its configuration, so that plain pulumi can run it.
func (r Runner) Prepare(ctx context.Context, l Layer) error {
	_, err := r.prepare(ctx, l)
	return err
}

package layers

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/operator/engine/settle"
)

// settle settles the pending operations of killed runs in the state of a layer. destroys says that a destroy follows.
func (r Runner) settle(ctx context.Context, l Layer, stack auto.Stack, progress Progress, log *os.File, destroys bool) error {
	state, err := r.state(ctx, l, stack)
	if err != nil || !state.Unsettled() {
		return err
	}
	progress("settle", "the pending operations of an interrupted run")
	if err := r.exclusive(ctx, l); err != nil {
		return err
	}
	settler := settle.Settler{
		Stack:    stackAccess{r, stack, log},
		Project:  settle.Project(func(name string) string { return r.Env[name] }),
		Destroys: destroys,
		Discard:  r.Lost,
		Tell: func(found settle.Finding) {
			// Lost deletes the objects that nobody can find by an ID.
			if found.Outcome != settle.Undecided || r.Lost == nil {
				progress("settle", found.Message(resourceName(found.URN)))
			}
		},
	}
	return settler.Settle(ctx)
}

// stackAccess is the access of a [settle.Settler] to a layer's stack.
type stackAccess struct {
	runner Runner
	stack  auto.Stack
	log    *os.File
}

// Export implements [settle.Stack].
func (s stackAccess) Export(ctx context.Context) ([]byte, error) {
	return s.runner.export(ctx, s.stack)
}

// Import implements [settle.Stack].
func (s stackAccess) Import(ctx context.Context, state []byte) error {
	var imported apitype.UntypedDeployment
	if err := json.Unmarshal(state, &imported); err != nil {
		return err
	}
	return s.stack.Import(ctx, imported)
}

// Refresh implements [settle.Stack]. If a provider rejects the credentials in the state, it uses those of the program, and then
// refreshes all resources: see [Runner.RefreshTypes].
func (s stackAccess) Refresh(ctx context.Context, urns []string) error {
	refresh := func(options ...optrefresh.Option) error {
		_, err := s.stack.Refresh(ctx, append(options, optrefresh.ProgressStreams(s.log), optrefresh.ErrorProgressStreams(s.log))...)
		return err
	}
	err := refresh(optrefresh.Target(urns))
	if err != nil && ctx.Err() == nil && loginRejected(err) {
		err = refresh(optrefresh.RunProgram(true))
	}
	return err
}

// exclusive returns an error if another run uses the stack. A run that is still alive may yet finish its operations.
func (r Runner) exclusive(ctx context.Context, l Layer) error {
	if r.Unlock == nil {
		return nil
	}
	free, err := r.Unlock(ctx, l.Project)
	if err == nil && !free {
		err = errors.New("another run of Pulumi uses it: wait for that run, or end it, then run this again")
	}
	return err
}

package layers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/operator/engine/settle"
)

// settle settles what killed runs left pending in the state of a layer. destroys says that a destroy follows.
func (r Runner) settle(ctx context.Context, l Layer, stack auto.Stack, progress Progress, log *os.File, destroys bool) error {
	state, err := r.state(ctx, l, stack)
	if err != nil || !state.Unsettled() {
		return err
	}
	progress("settle", "what an interrupted run left open")
	if err := r.exclusive(ctx, l); err != nil {
		return err
	}
	settler := settle.Settler{
		Stack:    stackAccess{stack, log},
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
	stack auto.Stack
	log   *os.File
}

// Export implements [settle.Stack].
func (s stackAccess) Export(ctx context.Context) ([]byte, error) {
	exported, err := s.stack.Export(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(exported)
}

// Import implements [settle.Stack].
func (s stackAccess) Import(ctx context.Context, state []byte) error {
	var imported apitype.UntypedDeployment
	if err := json.Unmarshal(state, &imported); err != nil {
		return err
	}
	return s.stack.Import(ctx, imported)
}

// Refresh implements [settle.Stack]. If the credentials in the state are refused, it uses those of the program.
func (s stackAccess) Refresh(ctx context.Context, urns []string) error {
	refresh := func(runProgram bool) error {
		_, err := s.stack.Refresh(ctx, optrefresh.Target(urns), optrefresh.ProgressStreams(s.log), optrefresh.ErrorProgressStreams(s.log),
			optrefresh.RunProgram(runProgram))
		return err
	}
	err := refresh(false)
	if err != nil && ctx.Err() == nil && refusedLogin(err) {
		err = refresh(true)
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
		err = errors.New("another run of Pulumi is at work on it: wait for it, or end it, then run this again")
	}
	return err
}

// state returns the state of a layer. It reads a backend of files directly, which takes almost no time.
func (r Runner) state(ctx context.Context, l Layer, stack auto.Stack) (*settle.State, error) {
	if state, ok, err := r.stored(l); ok || err != nil {
		return state, err
	}
	deployment, err := stack.Export(ctx)
	if err != nil {
		return nil, err
	}
	return settle.ParseDeployment(deployment.Deployment)
}

// stored reads the state of a layer from a backend of files. For any other backend ok is false.
func (r Runner) stored(l Layer) (state *settle.State, ok bool, err error) {
	backend, err := url.Parse(r.Env["PULUMI_BACKEND_URL"])
	if err != nil || backend.Scheme != "file" {
		return nil, false, nil //nolint:nilerr // Pulumi says what is wrong with it.
	}
	raw, err := os.ReadFile(filepath.Join(backend.Path, ".pulumi", "stacks", l.Project, r.Stack+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		state, err = settle.ParseDeployment(nil)
		return state, true, err
	}
	var file struct {
		Checkpoint struct {
			Latest json.RawMessage `json:"latest"`
		} `json:"checkpoint"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		return nil, true, fmt.Errorf("read the stack's state: %w", err)
	}
	state, err = settle.ParseDeployment(file.Checkpoint.Latest)
	return state, true, err
}

// Resources returns the number of resources in a layer's stack, without the stack itself; 0 if the layer has not run. It
// changes nothing.
func (r Runner) Resources(ctx context.Context, l Layer) (int, error) {
	state, err := r.look(ctx, l)
	if err != nil {
		return 0, err
	}
	return max(0, state.Resources()-1), nil
}

// Has reports whether a layer's stack contains a resource, by its URN. It changes nothing.
func (r Runner) Has(ctx context.Context, l Layer, urn string) (bool, error) {
	state, err := r.look(ctx, l)
	return err == nil && state.Has(urn), err
}

// look returns the state of a layer's stack; empty if the layer has not run.
func (r Runner) look(ctx context.Context, l Layer) (*settle.State, error) {
	state, ok, err := r.stored(l)
	if !ok {
		var stack auto.Stack
		if stack, err = r.open(ctx, l); err == nil {
			state, err = r.state(ctx, l, stack)
		}
	}
	if err != nil {
		return nil, r.wrap("read the state of", l, err, nil)
	}
	return state, nil
}

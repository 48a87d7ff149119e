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
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"

	"github.com/strata-platform/strata/internal/pending"
)

// settle settles what a killed run left pending in the state of a layer. Pulumi itself would only keep the note that a
// resource may exist, and fail if it does. settle looks for objects that the run may have created and adopts them. Before
// a destroy, the destroy deletes them with the rest.
func (r Runner) settle(ctx context.Context, l Layer, stack auto.Stack, progress Progress, log *os.File, destroys bool) error {
	unsettled, err := r.unsettled(l)
	if err != nil {
		return err
	}
	state, err := r.state(ctx, l, stack)
	if err != nil {
		return err
	}
	if state.Interrupted() {
		progress("settle", "what an interrupted run left open")
		if state, err = r.exclusive(ctx, l, stack); err != nil {
			return err
		}
		adopted, err := r.adopt(ctx, l, stack, state, destroys)
		if err != nil {
			return err
		}
		unsettled = append(unsettled, adopted...)
	}
	if len(unsettled) == 0 || destroys {
		return nil
	}
	// An earlier run may have adopted a resource that no longer exists. A refresh cannot target it.
	unsettled = slices.DeleteFunc(unsettled, func(urn string) bool { return !state.Has(urn) })
	if len(unsettled) > 0 {
		refresh := func(runProgram bool) error {
			_, err := stack.Refresh(ctx, optrefresh.Target(unsettled), optrefresh.ProgressStreams(log), optrefresh.ErrorProgressStreams(log),
				optrefresh.RunProgram(runProgram))
			return err
		}
		err := refresh(false)
		if err != nil && ctx.Err() == nil && refusedLogin(err) {
			err = refresh(true)
		}
		if err != nil {
			return err
		}
	}
	return r.keepUnsettled(l, nil)
}

// adopt settles the state and stores it. A refresh must then find out which of the resources exist. A file lists the
// resources until that refresh is done.
func (r Runner) adopt(ctx context.Context, l Layer, stack auto.Stack, state *pending.State, destroys bool) ([]string, error) {
	creations, err := state.Creations()
	if err != nil {
		return nil, err
	}
	if r.Lost != nil && len(creations) > 0 {
		if err := r.Lost(ctx, creations, state.Holds); err != nil {
			return nil, err
		}
	}
	adopted, err := state.Settle(destroys)
	if err != nil {
		return nil, err
	}
	before, err := r.unsettled(l)
	if err != nil {
		return nil, err
	}
	if err := r.keepUnsettled(l, append(before, adopted...)); err != nil {
		return nil, err
	}
	deployment, err := stack.Export(ctx)
	if err != nil {
		return nil, err
	}
	if deployment.Deployment, err = json.Marshal(state); err != nil {
		return nil, err
	}
	return adopted, stack.Import(ctx, deployment)
}

// exclusive returns the state if no other run uses it. A run that is still alive may yet finish its operations.
func (r Runner) exclusive(ctx context.Context, l Layer, stack auto.Stack) (*pending.State, error) {
	if r.Unlock != nil {
		free, err := r.Unlock(ctx, l.Project)
		if err != nil {
			return nil, err
		}
		if !free {
			return nil, errors.New("another run of Pulumi is at work on it: wait for it, or end it, then run this again")
		}
	}
	return r.state(ctx, l, stack)
}

// state returns the state of a layer. It reads a backend of files directly, which takes almost no time.
func (r Runner) state(ctx context.Context, l Layer, stack auto.Stack) (*pending.State, error) {
	if state, ok, err := r.stored(l); ok || err != nil {
		return state, err
	}
	deployment, err := stack.Export(ctx)
	if NoStack(err) {
		return pending.Parse(nil)
	}
	if err != nil {
		return nil, err
	}
	return pending.Parse(deployment.Deployment)
}

// noStack is Pulumi's message for a stack that does not exist.
const noStack = "no stack named"

// NoStack reports whether a call of Pulumi failed because the stack does not exist.
func NoStack(err error) bool { return err != nil && strings.Contains(err.Error(), noStack) }

// stored reads the state of a layer from a backend of files. For any other backend ok is false.
func (r Runner) stored(l Layer) (state *pending.State, ok bool, err error) {
	backend, err := url.Parse(r.Env["PULUMI_BACKEND_URL"])
	if err != nil || backend.Scheme != "file" {
		return nil, false, nil //nolint:nilerr // Pulumi says what is wrong with it.
	}
	raw, err := os.ReadFile(filepath.Join(backend.Path, ".pulumi", "stacks", l.Project, r.Stack+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		state, err = pending.Parse(nil)
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
	state, err = pending.Parse(file.Checkpoint.Latest)
	return state, true, err
}

// Has reports whether a layer's stack contains a resource, by its URN. It changes nothing.
func (r Runner) Has(ctx context.Context, l Layer, urn string) (bool, error) {
	state, err := r.look(ctx, l)
	return err == nil && state.Has(urn), err
}

// look returns the state of a layer's stack; empty if the layer has not run.
func (r Runner) look(ctx context.Context, l Layer) (*pending.State, error) {
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

// unsettledFile returns the path of a list of URNs: the resources of a layer that may or may not exist.
func (r Runner) unsettledFile(l Layer) string {
	return filepath.Join(r.WorkDir(l.Name), "unsettled.json")
}

func (r Runner) unsettled(l Layer) ([]string, error) {
	raw, err := os.ReadFile(r.unsettledFile(l))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var urns []string
	if err == nil {
		err = json.Unmarshal(raw, &urns)
	}
	return urns, err
}

func (r Runner) keepUnsettled(l Layer, urns []string) error {
	if len(urns) == 0 {
		err := os.Remove(r.unsettledFile(l))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	raw, err := json.Marshal(urns)
	if err != nil {
		return err
	}
	partial := r.unsettledFile(l) + ".partial"
	if err := os.WriteFile(partial, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(partial, r.unsettledFile(l))
}

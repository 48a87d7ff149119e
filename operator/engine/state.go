package engine

import (
	"context"
	"fmt"
	"maps"
	"os"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/engine/owners"
	"github.com/strata-platform/strata/operator/engine/owners/taken"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/redact"
	"github.com/strata-platform/strata/operator/engine/settings"
)

// HiddenValue replaces the secrets that a Plan does not see.
const HiddenValue = redact.Placeholder

// Hide returns what a plan sees in place of a secret value: HiddenValue, or "0" or "false" if the value is a number or a boolean. With
// PlainPlans, that is the value.
func (e *Engine) Hide(value string) string {
	if e.PlainPlans {
		return value
	}
	return redact.Value(value)
}

// ByPassphrase reports whether a secrets provider is the passphrase of the environment.
func ByPassphrase(provider string) bool { return settings.ByPassphrase(provider) }

// copyState gives a drift check and a plan a copy of the stack's state in the run's folder, and returns the backend of the run. Without
// PlainPlans, it replaces the secrets in the copy and in the request of a plan. former is the former passphrase during a rotation.
func (e *Engine) copyState(ctx context.Context, located backend.Backend, root *os.Root, dir string, req *Request, former string) (backend.Backend, *redact.Hidden, error) {
	state := backend.State{Backend: located, Parent: req.BackendFolder, Project: req.Project, Stack: req.Stack}
	if former != "" && (req.Operation == Drift || req.Operation == Plan) {
		req.Env = maps.Clone(req.Env)
		req.Env[settings.PassphraseVariable] = e.passphrase(state, req.State, req.Env[settings.PassphraseVariable], former)
	}
	switch req.Operation {
	case Drift:
		located, err := state.Copy(root, dir)
		return located, nil, err
	case Plan:
		in := redact.Inputs{Env: req.Env, SecretConfig: req.SecretConfig, Secrets: req.Secrets}
		content, err := req.State, error(nil)
		if content == nil {
			content, err = state.Read()
		}
		if err != nil {
			return located, nil, fmt.Errorf("read the state: %w", err)
		}
		hide := e.hider.Hide
		if e.PlainPlans && len(content) > 0 {
			hide = e.hider.Show
		}
		hidden, err := hide(ctx, state, content, root, dir, in, &e.crypters)
		if err != nil {
			return located, nil, err
		}
		req.Env, req.SecretConfig, req.Secrets = hidden.Env, hidden.SecretConfig, nil
		return hidden.Backend, hidden, nil
	}
	return located, nil, nil
}

// state returns the stack's state in its backend.
func (r *run) state() backend.State {
	return backend.State{
		Backend: r.located, Parent: r.BackendFolder, Root: r.StateRoot, Project: r.Project, Stack: r.Stack, CloudProject: r.cloudProject(),
	}
}

// own rejects a run that would create a database or a user of another stack. The caller calls end after the run. For names
// that only the run knows, own gives the plugins of the run a list.
func (r *run) own(ctx context.Context, registry *owners.Registry) (end func(), err error) {
	if r.Operation != Up && r.Operation != Preview || r.located.Folder == "" {
		return func() {}, nil
	}
	// Pulumi reports a program that cannot be read, and creates nothing.
	declared, defaults, _ := r.project.Databases(r.files)
	if r.Source != nil {
		defaults = nil // The files of the project may set config values, too.
	}
	others, end, err := registry.Begin(ctx, &owners.Run{
		Declared: declared, Opaque: r.project.Language() != project.YAML,
		Config: r.Config, Defaults: defaults, Secret: r.SecretConfig, State: r.state(), Named: r.Named,
	})
	if err != nil {
		return end, r.failure(Failed, "%v", err)
	}
	variable, err := taken.Write(r.root, others)
	r.env = append(r.env, variable)
	return end, err
}

// boundState rejects a state that is too large to be loaded.
func (r *run) boundState() error {
	if over := bounds.As(r.state().Bound()); over != nil {
		return r.failure(TooLarge, "%s", over)
	}
	return nil
}

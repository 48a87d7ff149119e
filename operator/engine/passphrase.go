package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/redact"
	"github.com/strata-platform/strata/operator/engine/settings"
)

// Run runs one operation. When ctx ends, Run lets pulumi stop gracefully: pulumi
// then saves the state and releases the lock. Errors after the preparation of the run
// are of type [*Error].
//
// While a passphrase is rotated, [settings.FormerVariable] in Env holds the former one. The run then uses the one of the two that
// opens the stack's state, and sees only that one.
func (e *Engine) Run(ctx context.Context, req Request) (*Result, error) {
	former := req.Env[settings.FormerVariable]
	if former == "" {
		return e.run(ctx, req, "")
	}
	req.Env, req.Secrets = maps.Clone(req.Env), append(slices.Clone(req.Secrets), former)
	delete(req.Env, settings.FormerVariable)
	result, err := e.run(ctx, req, former)
	if failure := asError(err); failure != nil && !failure.Began && strings.Contains(failure.Message, settings.WrongPassphrase) {
		// The state has moved to the other passphrase since the engine looked.
		return e.run(ctx, req, former)
	}
	return result, err
}

// passphrase returns the passphrase that opens a state of these two, and current if neither does or the state has none. content is the
// state, or nil if a file backend holds it.
func (e *Engine) passphrase(state backend.State, content []byte, current, former string) string {
	if content == nil {
		var err error
		if content, err = state.Read(); err != nil || content == nil {
			return current
		}
	}
	salt, err := redact.Salt(content)
	if err != nil || salt == "" {
		return current
	}
	if _, err := e.crypters.Key(current, salt); err == nil {
		return current
	}
	if _, err := e.crypters.Key(former, salt); err == nil {
		return former
	}
	return current
}

// usePassphrase gives the run the passphrase that opens the stack's state.
func (r *run) usePassphrase(e *Engine, former string) {
	if former == "" || r.hidden != nil {
		return
	}
	// Of several entries for one variable, the last wins.
	r.env = append(r.env, settings.PassphraseVariable+"="+e.passphrase(r.state(), nil, r.Env[settings.PassphraseVariable], former))
}

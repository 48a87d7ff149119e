package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/reencrypt"
	"github.com/strata-platform/strata/operator/engine"
	by "github.com/strata-platform/strata/operator/engine/settings"
)

// TestEitherPassphraseWorksWhileOneReplacesTheOther runs a stack before, while and after its state moves to another passphrase.
func TestEitherPassphraseWorksWhileOneReplacesTheOther(t *testing.T) {
	f := newFixture(t)
	const program = "config: {word: {type: string}}\nvariables: {token: {fn::secret: '${word}'}}\noutputs: {token: '${token}'}\n"
	with := func(current, former string) engine.Request {
		req := f.request(program)
		req.SecretConfig = map[string]string{"word": "treasure"}
		req.Env = map[string]string{by.PassphraseVariable: current}
		if former != "" {
			req.Env[by.FormerVariable] = former
		}
		return req
	}
	f.mustRun(t, with("first", ""))

	// The context names the new passphrase, and no state has moved.
	for _, operation := range []engine.Operation{engine.Up, engine.Preview, engine.Drift, engine.Plan, engine.Refresh} {
		req := with("second", "first")
		req.Operation = operation
		f.mustRun(t, req)
	}
	before := f.output(t, with("first", ""), "token")

	// The state moves after a run has chosen the former passphrase, and before the run reads the state.
	rotation := &reencrypt.Rotation{Folder: f.backend, From: "first", To: "second", Patience: time.Minute}
	racing, moved := with("second", "first"), false
	racing.Begin = func(string) error {
		if moved {
			return nil
		}
		moved = true
		found, err := rotation.Move(t.Context())
		if err == nil && !reflect.DeepEqual(found, reencrypt.Moved{Now: 1}) {
			t.Errorf("moved %+v, want one state", found)
		}
		return err
	}
	if result := f.mustRun(t, racing); result.Changes["same"] != 1 || len(result.Changes) != 1 {
		t.Errorf("the run changed %v", result.Changes)
	}
	if _, err := reencrypt.Prove(t.Context(), f.backend, "first"); err != nil {
		t.Error(err)
	}
	if _, err := reencrypt.Prove(t.Context(), f.backend, "second"); err == nil {
		t.Error("the new passphrase opens nothing")
	}
	if after := f.output(t, with("second", ""), "token"); after != before {
		t.Errorf("the secret was %q, and is %q", before, after)
	}
	if _, err := f.run(t, with("first", "")); !errors.As(err, new(*engine.Error)) {
		t.Errorf("the former passphrase alone: %v, want an error", err)
	}
	if locks, err := filepath.Glob(filepath.Join(f.backend, ".pulumi", "locks", "organization", "shop", "dev", "*")); err != nil || len(locks) > 0 {
		t.Errorf("locks are left: %v, %v", locks, err)
	}
	for _, operation := range []engine.Operation{engine.Plan, engine.Drift, engine.Destroy} {
		req := with("second", "first")
		req.Operation = operation
		f.mustRun(t, req)
	}
	if _, err := os.Stat(filepath.Join(f.backend, ".pulumi", "stacks", "shop", "dev.json")); err != nil {
		t.Error(err)
	}
}

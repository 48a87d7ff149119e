package redact

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/settings"
)

// Inputs are the inputs of a run.
type Inputs struct {
	// Env holds the environment variables of the run, with the passphrase of its state.
	Env map[string]string

	// SecretConfig holds the secret config values by their keys, and Secrets further secrets.
	SecretConfig map[string]string
	Secrets      []string
}

// Hidden is what a run gets in place of secrets.
type Hidden struct {
	// Backend holds the redacted state of the stack, and Digest is the digest of the state: see [State].
	Backend backend.Backend
	Digest  string

	// Inputs are the inputs without secrets, and Key encrypts the placeholders in SecretConfig. Key is nil if nothing is hidden.
	Inputs
	Key *settings.Key
}

// Hider hides the secrets of runs. The zero value is ready. It derives one key for all of them, which protects nothing: deriving
// a key takes a fifth of a second.
type Hider struct {
	once       sync.Once
	passphrase string
	key        *settings.Key
	err        error
}

// Hide writes a redacted copy of a stack's state, with this content, into the folder dir of a run, whose opened folder is root, and
// returns what the run gets. keys caches the keys of the states' passphrases.
func (h *Hider) Hide(ctx context.Context, state backend.State, content []byte, root *os.Root, dir string, in Inputs, keys *settings.Crypters) (*Hidden, error) {
	return h.copy(ctx, state, content, root, dir, in, keys, false)
}

// Show is [Hider.Hide] that hides nothing: the copy has the same secrets. The copy of a state file is the file itself; the key of the
// hider encrypts the copy of an exported state.
func (h *Hider) Show(ctx context.Context, state backend.State, content []byte, root *os.Root, dir string, in Inputs, keys *settings.Crypters) (*Hidden, error) {
	if exported(content) {
		return h.copy(ctx, state, content, root, dir, in, keys, true)
	}
	digest, err := Digest(ctx, Request{State: content, Passphrase: in.Env[settings.PassphraseVariable], Keys: keys})
	if err != nil {
		return nil, err
	}
	copied, err := state.WriteCopy(root, dir, content)
	return &Hidden{Backend: copied, Digest: digest, Inputs: in}, err
}

// exported reports whether a state is output of pulumi stack export, and no state file.
func exported(content []byte) bool {
	var file struct {
		Deployment json.RawMessage `json:"deployment"`
	}
	return json.Unmarshal(content, &file) == nil && file.Deployment != nil
}

// copy writes a copy of a state, with placeholders or, if plain is true, with the secrets themselves.
func (h *Hider) copy(
	ctx context.Context, state backend.State, content []byte, root *os.Root, dir string, in Inputs, keys *settings.Crypters, plain bool,
) (*Hidden, error) {
	h.once.Do(func() {
		h.passphrase = rand.Text()
		h.key, h.err = settings.NewKey(context.WithoutCancel(ctx), h.passphrase)
	})
	if h.err != nil {
		return nil, h.err
	}
	made := &Hidden{Inputs: in.hide(h.passphrase), Key: h.key}
	if plain {
		made.Inputs = in.with(h.passphrase)
	}
	content, digest, err := State(ctx, Request{
		State: content, Stack: path.Join("organization", state.Project, path.Base(state.Stack)),
		Passphrase: in.Env[settings.PassphraseVariable], Keys: keys, Key: h.key, Plain: plain,
	})
	if err != nil {
		return nil, err
	}
	made.Digest = digest
	made.Backend, err = state.WriteCopy(root, dir, content)
	return made, err
}

// with returns the inputs with another passphrase.
func (in Inputs) with(passphrase string) Inputs {
	in.Env = maps.Clone(in.Env)
	in.Env[settings.PassphraseVariable] = passphrase
	return in
}

// hide returns the inputs without secrets. Variables with secret values go: a placeholder in the place of a credential would be
// invalid.
func (in Inputs) hide(passphrase string) Inputs {
	secrets := append(slices.Collect(maps.Values(in.SecretConfig)), in.Secrets...)
	made := Inputs{Env: map[string]string{}, SecretConfig: map[string]string{}}
	for name, value := range in.Env {
		if !slices.Contains(secrets, value) {
			made.Env[name] = value
		}
	}
	made.Env[settings.PassphraseVariable] = passphrase
	for key, value := range in.SecretConfig {
		made.SecretConfig[key] = Value(value)
	}
	return made
}

// Value returns what replaces a secret config value. A program may declare the value as a number or a boolean.
func Value(value string) string {
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return "0"
	}
	if value == "true" || value == "false" {
		return "false"
	}
	return Placeholder
}

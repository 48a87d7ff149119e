// Package redact removes the secrets from the state of a stack, for a run that must not see them. The redacted state has the
// same resources and the same values in the same places, but each secret text in it is a placeholder, and the placeholders are
// encrypted with a key of their own.
package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/settings"
)

const (
	// Placeholder replaces a secret text. Pulumi's event log shows secrets in the same way.
	Placeholder = "[secret]"

	// MaxState bounds the size of a state that State redacts, in bytes. Redaction needs about ten times as much memory, in
	// this process.
	MaxState = 16 << 20

	// passphraseProvider is the type of the secrets provider whose key comes from a passphrase.
	passphraseProvider = "passphrase"

	// Pulumi stores a secret as an object with this key and value, and its ciphertext (pulumi/pulumi, sdk/go/common/resource,
	// SigKey and SecretSig).
	signature, secretSignature = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
)

// checkpoint is a state file of a file backend. Unknown fields of the latest deployment are kept.
type checkpoint struct {
	Version    int `json:"version"`
	Checkpoint struct {
		Stack  string         `json:"stack"`
		Latest map[string]any `json:"latest"`
	} `json:"checkpoint"`

	// Deployment is the latest deployment in the output of pulumi stack export, which has no Checkpoint.
	Deployment map[string]any `json:"deployment,omitempty"`
}

// Request is a request to redact a state.
type Request struct {
	// State is the content of the state file, or the output of pulumi stack export, also with --show-secrets, or empty for a
	// stack without state.
	State []byte

	// Stack is the name of the stack in a file that State creates, as in "organization/project/stack".
	Stack string

	// Passphrase is the passphrase that encrypts the state, unless its secrets are in plain text, and the key of the digest. Keys
	// caches the keys of passphrases.
	Passphrase string
	Keys       *settings.Crypters

	// Key encrypts the placeholders.
	Key *settings.Key

	// Plain keeps the secrets in place of placeholders.
	Plain bool
}

// State returns the redacted state file, and the digest of the resources in the state: sha256:HEX, or empty for a stack
// without state. An update that changes no resource does not change the digest. The digest depends on the secrets, by an HMAC
// with the passphrase, so that nobody can guess a secret by it.
func State(ctx context.Context, req Request) (redacted []byte, digest string, err error) {
	r, found, err := read(ctx, req)
	if err != nil {
		return nil, "", err
	}
	latest := found.Checkpoint.Latest
	if digest, err = r.digest(latest); err != nil {
		return nil, "", err
	}
	if r.mask = message.NewMask(r.texts...); r.Plain {
		r.mask = message.NewMask()
	}
	if found.Checkpoint.Latest, err = r.redactMap(ctx, latest, false); err != nil {
		return nil, "", fmt.Errorf("encrypt the placeholders of the state: %w", err)
	}
	found.Checkpoint.Latest["secrets_providers"] = map[string]any{"type": passphraseProvider, "state": map[string]any{"salt": req.Key.Salt}}
	if redacted, err = json.Marshal(found); err != nil {
		return nil, "", fmt.Errorf("encode the state: %w", err)
	}
	return redacted, digest, nil
}

// Digest returns the digest that [State] returns. The request needs no Key.
func Digest(ctx context.Context, req Request) (string, error) {
	r, found, err := read(ctx, req)
	if err != nil {
		return "", err
	}
	return r.digest(found.Checkpoint.Latest)
}

// read decodes a state and decrypts its secrets.
func read(ctx context.Context, req Request) (*redaction, *checkpoint, error) {
	if len(req.State) > MaxState {
		return nil, nil, bounds.Exceeded("the stack's state has %d bytes, and the limit of a plan is %d: split the stack", len(req.State), MaxState)
	}
	found := &checkpoint{Version: 3}
	found.Checkpoint.Stack = req.Stack
	if len(req.State) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(req.State))
		// A float64 has not all digits of a large number.
		decoder.UseNumber()
		if err := decoder.Decode(found); err != nil {
			return nil, nil, fmt.Errorf("decode the state: %w", err)
		}
	}
	if found.Deployment != nil {
		found.Checkpoint.Stack, found.Checkpoint.Latest, found.Deployment = req.Stack, found.Deployment, nil
	}
	if found.Checkpoint.Latest == nil {
		found.Checkpoint.Latest = map[string]any{"manifest": map[string]any{"time": "0001-01-01T00:00:00Z", "magic": "", "version": ""}}
	}
	r := &redaction{Request: req}
	seal(found.Checkpoint.Latest)
	if err := r.collect(ctx, found.Checkpoint.Latest); err != nil {
		return nil, nil, fmt.Errorf("decrypt the secrets of the state: %w", err)
	}
	return r, found, nil
}

// redaction is the redaction of one state.
type redaction struct {
	Request

	// own decrypts the state's secrets. It is nil until the first secret is found.
	own *settings.Key

	// plain holds the decoded secrets by their ciphertexts.
	plain map[string]any

	// texts are the long texts in the secrets, and mask hides them where a provider does not mark them as secret.
	texts []string
	mask  *message.Mask
}

// collect decrypts all secrets in the deployment.
func (r *redaction) collect(ctx context.Context, latest map[string]any) error {
	r.plain = map[string]any{}
	return eachSecret(latest, func(ciphertext string) error {
		if r.plain[ciphertext] != nil {
			return nil
		}
		text, err := r.open(ctx, latest, ciphertext)
		if err != nil {
			return err
		}
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return errors.New("a secret is not JSON")
		}
		r.plain[ciphertext] = value
		r.texts = append(r.texts, textsIn(value)...)
		return nil
	})
}

// open returns the secret in a ciphertext.
func (r *redaction) open(ctx context.Context, latest map[string]any, ciphertext string) (string, error) {
	if plain, is := strings.CutPrefix(ciphertext, sealed); is {
		return plain, nil
	}
	if r.own == nil {
		var err error
		if r.own, err = r.key(latest); err != nil {
			return "", err
		}
	}
	text, err := r.own.DecryptValue(ctx, ciphertext)
	if err != nil {
		return "", errors.New("a ciphertext is damaged")
	}
	return text, nil
}

// key returns the key of the state.
func (r *redaction) key(latest map[string]any) (*settings.Key, error) {
	provider, _ := latest["secrets_providers"].(map[string]any)
	if kind, _ := provider["type"].(string); kind != passphraseProvider {
		return nil, fmt.Errorf("they are encrypted by the secrets provider %q, and a plan can read only those encrypted with a passphrase", kind)
	}
	state, _ := provider["state"].(map[string]any)
	salt, _ := state["salt"].(string)
	return r.Keys.Key(r.Passphrase, salt)
}

// redactMap returns a redacted copy of an object that is no secret itself. In names and references, such as URNs, nothing may be hidden:
// masked says that the object belongs to the inputs or outputs of a resource.
func (r *redaction) redactMap(ctx context.Context, value map[string]any, masked bool) (map[string]any, error) {
	made := make(map[string]any, len(value))
	for name, each := range value {
		redacted, err := r.redact(ctx, each, masked || name == "inputs" || name == "outputs")
		if err != nil {
			return nil, err
		}
		made[name] = redacted
	}
	return made, nil
}

func (r *redaction) redact(ctx context.Context, value any, masked bool) (any, error) {
	switch value := value.(type) {
	case string:
		if masked {
			return r.mask.Apply(value), nil
		}
	case map[string]any:
		if value[signature] != secretSignature {
			return r.redactMap(ctx, value, masked)
		}
		ciphertext, _ := value["ciphertext"].(string)
		plain := r.plain[ciphertext]
		if !r.Plain {
			plain = Shape(plain)
		}
		text, err := json.Marshal(plain)
		if err != nil {
			return nil, err
		}
		encrypted, err := r.Key.EncryptValue(ctx, string(text))
		if err != nil {
			return nil, err
		}
		return map[string]any{signature: secretSignature, "ciphertext": encrypted}, nil
	case []any:
		made := make([]any, len(value))
		for i, each := range value {
			redacted, err := r.redact(ctx, each, masked)
			if err != nil {
				return nil, err
			}
			made[i] = redacted
		}
		return made, nil
	}
	return value, nil
}

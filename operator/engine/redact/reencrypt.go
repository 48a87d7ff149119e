package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Salt returns the salt of the passphrase that encrypts a state file, or an empty string if another provider or nothing encrypts it.
func Salt(state []byte) (string, error) {
	var found struct {
		Checkpoint struct {
			Latest struct {
				Provider struct {
					Type  string          `json:"type"`
					State json.RawMessage `json:"state"`
				} `json:"secrets_providers"`
			} `json:"latest"`
		} `json:"checkpoint"`
	}
	if err := json.Unmarshal(state, &found); err != nil {
		return "", fmt.Errorf("decode the state: %w", err)
	}
	var by struct {
		Salt string `json:"salt"`
	}
	provider := found.Checkpoint.Latest.Provider
	if provider.Type != passphraseProvider {
		return "", nil
	}
	if err := json.Unmarshal(provider.State, &by); err != nil {
		return "", fmt.Errorf("decode the secrets provider of the state: %w", err)
	}
	return by.Salt, nil
}

// Reencrypt returns the state file of a request with the same content, whose secrets the request's Key encrypts instead of its
// Passphrase. Unlike [State], it bounds no size: the caller does.
func Reencrypt(ctx context.Context, req Request) ([]byte, error) {
	var file map[string]any
	decoder := json.NewDecoder(bytes.NewReader(req.State))
	// A float64 has not all digits of a large number.
	decoder.UseNumber()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("decode the state: %w", err)
	}
	checkpoint, _ := file["checkpoint"].(map[string]any)
	latest, _ := checkpoint["latest"].(map[string]any)
	if latest == nil {
		return nil, errors.New("the state has no deployment")
	}
	r := &redaction{Request: req}
	own, err := r.key(latest)
	if err != nil {
		return nil, err
	}
	r.own = own
	if err := r.reencrypt(ctx, latest); err != nil {
		return nil, err
	}
	latest["secrets_providers"] = map[string]any{"type": passphraseProvider, "state": map[string]any{"salt": req.Key.Salt}}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(file); err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	return out.Bytes(), nil
}

// reencrypt replaces the ciphertexts below a value.
func (r *redaction) reencrypt(ctx context.Context, value any) error {
	switch value := value.(type) {
	case map[string]any:
		ciphertext, is := value["ciphertext"].(string)
		if value[signature] != secretSignature || !is {
			for _, each := range value {
				if err := r.reencrypt(ctx, each); err != nil {
					return err
				}
			}
			return nil
		}
		text, err := r.own.DecryptValue(ctx, ciphertext)
		if err != nil {
			return errors.New("a ciphertext is damaged")
		}
		if value["ciphertext"], err = r.Key.EncryptValue(ctx, text); err != nil {
			return fmt.Errorf("encrypt a secret: %w", err)
		}
	case []any:
		for _, each := range value {
			if err := r.reencrypt(ctx, each); err != nil {
				return err
			}
		}
	}
	return nil
}

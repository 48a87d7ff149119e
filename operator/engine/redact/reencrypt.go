package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
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
	err = eachCiphertext(latest, func(secret map[string]any, ciphertext string) error {
		text, err := own.DecryptValue(ctx, ciphertext)
		if err != nil {
			return errors.New("a ciphertext is damaged")
		}
		if secret["ciphertext"], err = req.Key.EncryptValue(ctx, text); err != nil {
			return fmt.Errorf("encrypt a secret: %w", err)
		}
		return nil
	})
	if err != nil {
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

// Reveal replaces the ciphertexts in the deployment of a state by their plaintexts, as `pulumi stack export --show-secrets` prints them.
func Reveal(ctx context.Context, deployment map[string]any, by config.Decrypter) error {
	return eachCiphertext(deployment, func(secret map[string]any, ciphertext string) error {
		text, err := by.DecryptValue(ctx, ciphertext)
		if err != nil {
			return errors.New("a ciphertext is damaged")
		}
		delete(secret, "ciphertext")
		secret["plaintext"] = text
		return nil
	})
}

// eachCiphertext calls see with each secret below a value, and its ciphertext. see may change the secret.
func eachCiphertext(value any, see func(secret map[string]any, ciphertext string) error) error {
	switch value := value.(type) {
	case map[string]any:
		if ciphertext, is := value["ciphertext"].(string); is && value[signature] == secretSignature {
			return see(value, ciphertext)
		}
		for _, each := range value {
			if err := eachCiphertext(each, see); err != nil {
				return err
			}
		}
	case []any:
		for _, each := range value {
			if err := eachCiphertext(each, see); err != nil {
				return err
			}
		}
	}
	return nil
}

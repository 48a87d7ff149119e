package buckets

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"google.golang.org/api/cloudkms/v1"

	"github.com/strata-platform/strata/operator/engine/redact"
)

// scheme begins the URLs of keys of Cloud KMS as Pulumi writes them.
const scheme = "gcpkms://"

// cloudProvider is the type of the secrets provider of a state whose key a key of a cloud encrypts (pulumi/pulumi, pkg/secrets/cloud).
const cloudProvider = "cloud"

// Decrypt returns a state with its secrets in plain text, as `pulumi stack export --show-secrets` prints them, if a key of Cloud KMS
// encrypts it, and otherwise the state as it is. The key must be that of the team's provider: the team writes the state, and must not make
// the engineer call another service.
func (c *Client) Decrypt(ctx context.Context, state []byte, provider string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(state))
	decoder.UseNumber() // A float64 has not all digits of a large number.
	var file map[string]any
	if err := decoder.Decode(&file); err != nil {
		return nil, errors.New("it is no state of Pulumi")
	}
	checkpoint, _ := file["checkpoint"].(map[string]any)
	latest, _ := checkpoint["latest"].(map[string]any)
	by, _ := latest["secrets_providers"].(map[string]any)
	if by["type"] != cloudProvider {
		return state, nil
	}
	raw, err := json.Marshal(by["state"])
	if err != nil {
		return nil, err
	}
	var with struct {
		URL string `json:"url"`
		Key []byte `json:"encryptedkey"`
	}
	if err := json.Unmarshal(raw, &with); err != nil || len(with.Key) == 0 {
		return nil, errors.New("its secrets provider has no key")
	}
	if with.URL != provider || !strings.HasPrefix(provider, scheme) {
		return nil, fmt.Errorf("its secrets are encrypted by %.100q, and not by the key of its team", with.URL)
	}
	key, err := c.key(ctx, strings.TrimPrefix(provider, scheme), with.Key)
	if err != nil {
		return nil, err
	}
	if err := redact.Reveal(ctx, latest, config.NewSymmetricCrypter(key)); err != nil {
		return nil, err
	}
	delete(latest, "secrets_providers")
	return json.Marshal(file)
}

// keyBytes is the size of the key of a state.
const keyBytes = 32

// key decrypts the key of a state.
func (c *Client) key(ctx context.Context, name string, encrypted []byte) ([]byte, error) {
	if key := c.keys[string(encrypted)]; key != nil {
		return key, nil
	}
	answer, err := c.kms.Projects.Locations.KeyRings.CryptoKeys.Decrypt(name, &cloudkms.DecryptRequest{
		Ciphertext: base64.StdEncoding.EncodeToString(encrypted),
	}).Context(ctx).Do()
	if err != nil {
		return nil, fmt.Errorf("decrypt its key by %s: give your account roles/cloudkms.cryptoKeyDecrypter on it: %w", name, err)
	}
	key, err := base64.StdEncoding.DecodeString(answer.Plaintext)
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("decrypt its key by %s: the result is no key of a state", name)
	}
	c.keys[string(encrypted)] = key
	return key, nil
}

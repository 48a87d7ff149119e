package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
)

// digest returns the digest of the resources and the pending operations of a deployment.
func (r *redaction) digest(latest map[string]any) (string, error) {
	var parts []string
	for _, list := range []string{"resources", "pending_operations"} {
		entries, _ := latest[list].([]any)
		for _, each := range entries {
			content, err := json.Marshal(r.reveal(each))
			if err != nil {
				return "", fmt.Errorf("encode the state: %w", err)
			}
			parts = append(parts, list+string(content))
		}
	}
	if len(parts) == 0 {
		return "", nil
	}
	// Pulumi writes resources in the order in which their steps ended.
	slices.Sort(parts)
	hash := hmac.New(sha256.New, []byte(r.Passphrase))
	for _, each := range parts {
		_, _ = fmt.Fprintln(hash, each) // It never fails.
	}
	return fmt.Sprintf("sha256:%x", hash.Sum(nil)), nil
}

// reveal returns a value with its secrets in place of their ciphertexts: Pulumi encrypts a secret anew in each update.
func (r *redaction) reveal(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if value[signature] == secretSignature {
			ciphertext, _ := value["ciphertext"].(string)
			return map[string]any{signature: secretSignature, "plaintext": r.plain[ciphertext]}
		}
		made := make(map[string]any, len(value))
		for name, each := range value {
			made[name] = r.reveal(each)
		}
		return made
	case []any:
		made := make([]any, len(value))
		for i, each := range value {
			made[i] = r.reveal(each)
		}
		return made
	}
	return value
}

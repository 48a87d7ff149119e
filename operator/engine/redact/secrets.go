package redact

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// sealed begins the ciphertext of a secret that the state contains in plain text. Pulumi's ciphertexts begin with a version.
const sealed = "plain:"

// seal gives the secrets below a value that are in plain text the form of the others.
func seal(value any) {
	switch value := value.(type) {
	case map[string]any:
		if plain, is := value["plaintext"].(string); is && value[signature] == secretSignature && value["ciphertext"] == nil {
			value["ciphertext"] = sealed + plain
			delete(value, "plaintext")
			return
		}
		for _, each := range value {
			seal(each)
		}
	case []any:
		for _, each := range value {
			seal(each)
		}
	}
}

// eachSecret calls see with each ciphertext below a value.
func eachSecret(value any, see func(ciphertext string) error) error {
	switch value := value.(type) {
	case map[string]any:
		if value[signature] == secretSignature {
			ciphertext, ok := value["ciphertext"].(string)
			if !ok {
				return errors.New("a secret has no ciphertext")
			}
			return see(ciphertext)
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if err := eachSecret(value[name], see); err != nil {
				return err
			}
		}
	case []any:
		for _, each := range value {
			if err := eachSecret(each, see); err != nil {
				return err
			}
		}
	}
	return nil
}

// longText is the length in bytes from which a text of a secret is hidden in values that are not marked as secret. A shorter one, such as
// the name of a user, occurs in names and settings that are no secrets.
const longText = 16

// textsIn returns the long texts in a decoded secret.
func textsIn(value any) []string {
	switch value := value.(type) {
	case string:
		if len(value) < longText {
			return nil
		}
		return []string{value}
	case map[string]any:
		var texts []string
		for _, each := range value {
			texts = append(texts, textsIn(each)...)
		}
		return texts
	case []any:
		var texts []string
		for _, each := range value {
			texts = append(texts, textsIn(each)...)
		}
		return texts
	}
	return nil
}

// Shape replaces each text in decoded JSON by Placeholder, each number by 0 and each boolean by false. Objects, their field
// names, and lists stay, because the schema of a provider demands them.
func Shape(value any) any {
	switch value := value.(type) {
	case string:
		return Placeholder
	case json.Number, float64:
		return 0
	case bool:
		return false
	case map[string]any:
		made := make(map[string]any, len(value))
		for name, each := range value {
			if name == signature {
				// A secret in a secret, an asset or an output: its signature says which.
				made[name] = each
				continue
			}
			made[name] = Shape(each)
		}
		return made
	case []any:
		made := make([]any, len(value))
		for i, each := range value {
			made[i] = Shape(each)
		}
		return made
	}
	return value
}

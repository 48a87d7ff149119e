package settings

import (
	"encoding/json"
	"errors"
)

// ReadJSON is [Read] from the output of `pulumi config --json --show-secrets` for a project.
func ReadJSON(output []byte, project string, target any) (problems []string, err error) {
	var values map[string]struct {
		Value  string `json:"value"`
		Secret bool   `json:"secret"`
	}
	if err := json.Unmarshal(output, &values); err != nil {
		return nil, errors.New("the output of pulumi config is no JSON") // The error could quote a secret.
	}
	return Read(func(key string) (Value, bool) {
		value, found := values[project+":"+key]
		return Value{Text: value.Value, Secret: value.Secret}, found
	}, target), nil
}

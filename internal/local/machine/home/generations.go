package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Generations are the generations of the secrets that layer 1 creates, as in its setting PassphraseGenerations. The zero value
// means the first generation of each.
type Generations struct {
	Passphrases map[string][]int `json:"passphrases,omitempty"`
}

// GenerationsFile is the secret with the generations. It is among the credentials because backups contain these: with other generations, layer 1 would create other
// passphrases.
const GenerationsFile = "generations"

// Generations returns the generations of the home's secrets.
func (h Home) Generations() (Generations, error) {
	var kept Generations
	raw, err := os.ReadFile(h.SecretFile(GenerationsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &kept)
	}
	if err != nil {
		return kept, fmt.Errorf("read the generations of the home's secrets in %s: %w", h.SecretFile(GenerationsFile), err)
	}
	return kept, nil
}

// KeepGenerations records the generations of the home's secrets.
func (h Home) KeepGenerations(g Generations) error {
	raw, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return WriteFile(h.SecretFile(GenerationsFile), raw)
}

// Next returns the generations during a rotation: a new one before the current one. It returns a rotation that has not finished as
// it is.
func Next(of []int) []int {
	switch len(of) {
	case 0:
		return []int{1, 0}
	case 1:
		return []int{of[0] + 1, of[0]}
	}
	return of
}

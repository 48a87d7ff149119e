package home

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Secrets returns the secrets called name and, if it exists, former. It creates none, and refuses a short one, which somebody could
// guess.
func (h Home) Secrets(name, former string) ([]string, error) {
	var secrets []string
	for _, each := range []string{name, former} {
		secret, err := os.ReadFile(h.SecretFile(each))
		if each == former && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the home's secret %s: %w", each, err)
		}
		if len(secret) < len(rand.Text()) {
			return nil, fmt.Errorf("the home's secret %s is damaged", each)
		}
		secrets = append(secrets, string(secret))
	}
	return secrets, nil
}

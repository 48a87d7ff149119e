package reencrypt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/redact"
	"github.com/strata-platform/strata/operator/engine/settings"
	"github.com/strata-platform/strata/operator/untrusted"
)

// Prove tries a passphrase on every file below a folder that is a state, or a copy of one, and returns how many it tried. An error names
// those that the passphrase opens.
func Prove(ctx context.Context, folder, passphrase string) (tried int, err error) {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer root.Close()
	keys, refused := settings.Crypters{}, map[string]bool{}
	var open []string
	var problem error
	left := int64(maxBytes)
	skipped := untrusted.Walk(root, untrusted.Budget{Entries: maxEntries, Depth: maxDepth}, func(string) bool { return true }, func(file string) bool {
		if problem = ctx.Err(); problem != nil {
			return false
		}
		raw, err := untrusted.ReadPlain(root, file, min(left, backend.MaxState))
		left -= int64(len(raw))
		if err == nil {
			raw, err = backend.Decompress(raw)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if err != nil {
			problem = fmt.Errorf("try the passphrase on %s: %w", file, err)
			return false
		}
		salt, err := redact.Salt(raw)
		if err != nil || salt == "" {
			return true
		}
		if tried++; refused[salt] {
			return true
		}
		if _, err := keys.Key(passphrase, salt); err == nil {
			open = append(open, file)
			return true
		}
		refused[salt] = true
		if len(refused) > maxStates {
			problem = fmt.Errorf("there are more than %d states", maxStates)
		}
		return problem == nil
	})
	if err := errors.Join(problem, skipped); err != nil {
		return tried, err
	}
	if len(open) > 0 {
		slices.Sort(open)
		return tried, fmt.Errorf("the former passphrase still opens %s, and %d more", open[0], len(open)-1)
	}
	return tried, nil
}

// maxDepth bounds the depth of the folders that Prove enters.
const maxDepth = 16

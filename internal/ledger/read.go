package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// ErrMissing means that a folder has no ledger.
var ErrMissing = errors.New("there is no ledger")

// Chains returns the names of the chains in a folder, sorted.
func Chains(dir string) ([]string, error) {
	names, err := chainNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Each calls see with each entry of a chain, the oldest first. It leaves out lines that are no entries: [Verify] reports them.
func Each(dir, chain string, see func(Entry) error) error {
	if !validChain.MatchString(chain) {
		return nil
	}
	segments, err := segmentsOf(filepath.Join(dir, chain))
	if err != nil {
		return fmt.Errorf("read the chain %s of the ledger: %w", chain, err)
	}
	for _, each := range segments {
		err := eachLine(each.path, func(raw []byte, _ int64) error {
			e, _, err := decode(chain, raw)
			if err != nil {
				return nil //nolint:nilerr // Verify reports it.
			}
			return see(e)
		})
		// The writer may have removed the oldest segment meanwhile.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the chain %s of the ledger: %w", chain, err)
		}
	}
	return nil
}

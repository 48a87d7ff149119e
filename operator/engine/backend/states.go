package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/strata-platform/strata/operator/untrusted"
)

// Bounds of a search through the states in one folder.
const (
	maxStateFiles = 50_000
	maxStateDepth = 16
)

// EachState calls see for each state file in the file backends below dir, in nested folders too, until see returns false.
// Runs may be able to write to dir, but not to its parent. file is the slash-separated path of the file below dir. state is
// the file's content, decompressed; if err is not nil, EachState could not read it. EachState reads and decompresses at
// most budget bytes in total; it does not block on a pipe, and does not follow a link out of dir. The returned error says
// which part of dir EachState did not search.
func EachState(ctx context.Context, dir string, budget int64, see func(file string, state []byte, err error) bool) error {
	return eachOther(ctx, dir, "", budget, see)
}

// eachOther is [EachState] without the stack whose state file has the path own, without its suffix.
func eachOther(ctx context.Context, dir, own string, budget int64, see func(file string, state []byte, err error) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := budget
	// Beside the folder with the states, the bookkeeping folder has folders with backups and histories.
	enter := func(folder string) bool {
		return path.Base(path.Dir(folder)) != bookkeeping || path.Base(folder) == "stacks"
	}
	skipped := untrusted.Walk(root, untrusted.Budget{Entries: maxStateFiles, Depth: maxStateDepth}, enter, func(file string) bool {
		if ctx.Err() != nil {
			return false
		}
		if base, ok := TrimState(file); !ok || base == own {
			return true
		}
		raw, err := untrusted.ReadPlain(root, file, left)
		left -= int64(len(raw))
		var state []byte
		if err == nil && compressed(raw) {
			state, err = decompress(raw, left)
			left = max(0, left-int64(len(state)))
		} else {
			state = raw
		}
		if errors.Is(err, untrusted.ErrTooLarge) {
			err = fmt.Errorf("%w: with it, the states in the folder have more than %d bytes", untrusted.ErrTooLarge, budget)
		}
		if err != nil {
			state = nil
		}
		return see(file, state, err)
	})
	return errors.Join(ctx.Err(), skipped)
}

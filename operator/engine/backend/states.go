package backend

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
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
		if base, ok := trimState(file); !ok || base == own {
			return true
		}
		raw, err := untrusted.ReadPlain(root, file, left)
		left -= int64(len(raw))
		state := raw
		if err == nil && bytes.HasPrefix(raw, gzipMagic) {
			state, err = gunzip(raw, left)
			left = max(0, left-int64(len(state)))
		}
		if errors.Is(err, untrusted.ErrTooLarge) {
			err = fmt.Errorf("%w: with it, the states in the folder have more than %d bytes", untrusted.ErrTooLarge, budget)
		}
		if err == nil && bytes.HasPrefix(raw, zstdMagic) {
			err = errors.New("it is compressed with zstd, which strata cannot read")
		}
		if err != nil {
			state = nil
		}
		return see(file, state, err)
	})
	return errors.Join(ctx.Err(), skipped)
}

// Pulumi recognizes a compressed file by its first bytes (package sdk/go/common/encoding), and not by its name.
var (
	gzipMagic = []byte{0x1f, 0x8b, 8}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// gunzip returns the decompressed content of a state file. If it has more than limit bytes, the error is
// [untrusted.ErrTooLarge], and gunzip returns the bytes that it has decompressed.
func gunzip(raw []byte, limit int64) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	state, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err == nil && int64(len(state)) > limit {
		err = untrusted.ErrTooLarge
	}
	return state, err
}

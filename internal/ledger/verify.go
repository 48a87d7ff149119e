package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/strata-platform/strata/internal/signing"
)

// Problem is what a verification has found in one chain, its first bad entry, or in the signed heads.
type Problem struct {
	Chain string `json:"chain,omitempty"`
	// Seq is the number that the first bad entry has or should have, and File and Line its place; empty if there is none.
	Seq     uint64 `json:"seq,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// String returns the problem in one line.
func (p Problem) String() string {
	if p.Chain == "" {
		return p.File + ": " + p.Message
	}
	text := "chain " + p.Chain
	if p.Seq > 0 {
		text += fmt.Sprintf(", entry %d", p.Seq)
	}
	if p.File != "" {
		text += fmt.Sprintf(" (%s, line %d)", p.File, p.Line)
	}
	return text + ": " + p.Message
}

// Verified is the result of a verification.
type Verified struct {
	// Heads are the signed heads, to be compared with heads that somebody has noted elsewhere.
	Heads Heads `json:"heads"`
	// Entries counts the entries that belong to their chains.
	Entries int `json:"entries"`
	// Problems are empty if every entry is the one that the ledger was given.
	Problems []Problem `json:"problems"`
}

const (
	// tries bounds how often a verification looks for a signature of entries that a running platform has just written.
	tries    = 20
	tryAgain = 100 * time.Millisecond
)

// Verify checks every entry of the ledger in a folder, while another process may write.
func Verify(ctx context.Context, dir string, key *signing.Key) (Verified, error) {
	for try := 1; ; try++ {
		v, unsigned, err := verify(dir, key)
		if err != nil {
			return v, fmt.Errorf("verify the ledger in %s: %w", dir, err)
		}
		if !unsigned || try == tries {
			return v, nil
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(tryAgain):
		}
	}
}

// verify checks the ledger once. unsigned says that there are entries that the heads do not cover yet.
func verify(dir string, key *signing.Key) (v Verified, unsigned bool, err error) {
	v.Problems = []Problem{}
	heads, err := readHeads(dir, key)
	if errors.Is(err, fs.ErrNotExist) {
		v.Problems = append(v.Problems, Problem{File: filepath.Join(dir, HeadsFile), Message: "the signed heads are missing: somebody has removed them"})
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	v.Heads = heads
	names, err := chainNames(dir)
	if err != nil {
		return v, false, err
	}
	for name := range heads.Chains {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		head, signed := heads.Chains[name]
		if !signed {
			v.Problems = append(v.Problems, Problem{Chain: name, Message: "the signed heads do not contain this chain: somebody has added it, or removed the heads"})
			unsigned = true
			continue
		}
		count, problem, after, err := verifyChain(filepath.Join(dir, name), name, head)
		if err != nil {
			return v, false, err
		}
		v.Entries += count
		unsigned = unsigned || after
		if problem != nil {
			v.Problems = append(v.Problems, *problem)
		}
	}
	return v, unsigned, nil
}

// verifyChain checks the entries of one chain up to its signed head. after says that the only problem are entries behind the head.
func verifyChain(dir, name string, head Head) (count int, problem *Problem, after bool, err error) {
	segments, err := segmentsOf(dir)
	if err != nil {
		return 0, nil, false, err
	}
	next, prev := head.First, head.Base
	for _, each := range segments {
		if each.first < head.First {
			continue // Its removal was interrupted.
		}
		number := 0
		bad := func(message string) {
			problem = &Problem{Chain: name, Seq: next, File: each.path, Line: number, Message: message}
		}
		err := eachLine(each.path, func(raw []byte, _ int64) error {
			number++
			e, before, err := decode(name, raw)
			switch {
			case problem != nil:
				return nil
			case next > head.Seq:
				bad("it is behind the signed head: somebody has added it, or the platform ended before it signed it")
				after = err == nil && before == prev
			case err != nil:
				bad(err.Error())
			case before != prev || e.Seq != next:
				bad(fmt.Sprintf("it does not follow the entry before it (its number is %d): somebody has removed, added or moved entries", e.Seq))
			case e.Kind == kindUnsigned:
				bad("when the platform began to write it, the signed heads were missing or of another key: earlier entries may be missing or forged")
			case next == head.Seq && e.Hash != head.Hash:
				bad("it is not the entry that the signed head names: somebody has replaced it")
			default:
				next, prev, count = next+1, e.Hash, count+1
			}
			return nil
		})
		if err != nil {
			return count, nil, false, err
		}
	}
	if problem == nil && next <= head.Seq {
		problem = &Problem{Chain: name, Seq: next, Message: fmt.Sprintf("it is missing: the signed head is entry %d", head.Seq)}
	}
	return count, problem, after, nil
}

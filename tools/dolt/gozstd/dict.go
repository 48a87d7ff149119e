package gozstd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

const (
	// dictMagic is the beginning of a structured dictionary, which has tables for entropy coding before its content. A raw
	// dictionary has only content.
	dictMagic = "\x37\xa4\x30\xec"

	// minRaw is the minimum length of a raw dictionary. The format ignores shorter ones.
	minRaw = 8

	minDict    = 256     // the minimum of BuildDict's desired length
	segmentLen = 64      // the length of the segments that BuildDict selects
	gramLen    = 8       // the length of the sequences that BuildDict counts
	maxCounts  = 1 << 20 // limits BuildDict's memory
)

// parseDict returns a copy of a dictionary and whether it is structured. The copy is nil for a dictionary that the format ignores.
func parseDict(dict []byte) (content []byte, structured bool, err error) {
	switch {
	case len(dict) == 0:
		return nil, false, errors.New("the dictionary is empty")
	case bytes.HasPrefix(dict, []byte(dictMagic)):
		return bytes.Clone(dict), true, nil
	case len(dict) < minRaw:
		return nil, false, nil
	}
	return bytes.Clone(dict), false, nil
}

// BuildDict returns a raw dictionary with the text that the samples have in common, of at most desiredLen bytes, or nil if
// the samples are too small.
//
// It divides the samples into parts, and selects the most frequent segment of each part in turn, together with neighbouring
// text of the same frequency. It selects no text twice. Equal samples give equal dictionaries.
func BuildDict(samples [][]byte, desiredLen int) []byte {
	desiredLen = max(desiredLen, minDict)
	text := bytes.Join(samples, nil)
	if len(text) < minRaw {
		return nil
	}
	counts := countGrams(text)
	partLen := max(len(text)/(desiredLen/segmentLen), segmentLen)

	// The first segment goes to the end, where the offsets of matches are shortest.
	dict := make([]byte, desiredLen)
	free := desiredLen
	for taken := true; taken; {
		taken = false
		for start := 0; start < len(text) && free >= segmentLen; start += partLen {
			if from, to := counts.best(text, start, min(start+partLen, len(text)), free); from < to {
				counts.forget(text[from:to])
				free -= to - from
				copy(dict[free:], text[from:to])
				taken = true
			}
		}
	}
	dict = dict[free:]
	if len(dict) == 0 {
		dict = bytes.Clone(text[max(len(text)-desiredLen, 0):])
	}
	if bytes.HasPrefix(dict, []byte(dictMagic)) {
		dict = dict[1:] // otherwise the dictionary would look structured
	}
	return dict
}

// grams counts how often each sequence of gramLen bytes occurs again. Sequences with equal hashes share a count.
type grams struct {
	again []uint32
	shift int
}

func countGrams(text []byte) grams {
	size := min(bits.Len(uint(len(text))), bits.Len(maxCounts-1))
	g := grams{again: make([]uint32, 1<<size), shift: 64 - size}
	seen := make([]bool, len(g.again))
	for i := range len(text) - gramLen + 1 {
		slot := g.slot(text[i:])
		if seen[slot] {
			g.again[slot]++
		}
		seen[slot] = true
	}
	return g
}

func (g grams) slot(text []byte) uint64 {
	const golden = 0x9e3779b97f4a7c15 // gives neighbours distant hashes
	return binary.LittleEndian.Uint64(text) * golden >> g.shift
}

// best returns the segment between start and end whose grams occur most often. It extends the segment while the text around
// it occurs at least half as often, up to limit. The segment is empty if no gram occurs again.
func (g grams) best(text []byte, start, end, limit int) (from, to int) {
	const perSegment = segmentLen - gramLen + 1
	var sum, highest int
	for i := start; i+gramLen <= end; i++ {
		sum += g.count(text, i)
		first := i - perSegment + 1
		if first < start {
			continue
		}
		if sum > highest {
			highest, from, to = sum, first, first+segmentLen
		}
		sum -= g.count(text, first)
	}
	if from == to {
		return from, to
	}
	enough := max(highest/perSegment/2, 1)
	for to < len(text) && to-from < limit && g.count(text, to-gramLen+1) >= enough {
		to++
	}
	for from > 0 && to-from < limit && g.count(text, from-1) >= enough {
		from--
	}
	return from, to
}

func (g grams) count(text []byte, i int) int { return int(g.again[g.slot(text[i:])]) }

// forget sets the counts of the grams of a segment to zero.
func (g grams) forget(segment []byte) {
	for i := range len(segment) - gramLen + 1 {
		g.again[g.slot(segment[i:])] = 0
	}
}

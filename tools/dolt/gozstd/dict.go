package gozstd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

const (
	// dictMagic starts a structured dictionary, one with tables for entropy coding before its content. One without is
	// all content, called raw.
	dictMagic = "\x37\xa4\x30\xec"

	// minRaw is the length below which the format ignores a raw dictionary.
	minRaw = 8

	minDict    = 256     // BuildDict's smallest desired length
	segmentLen = 64      // what BuildDict takes at once
	gramLen    = 8       // what BuildDict counts
	maxCounts  = 1 << 20 // bounds BuildDict's memory
)

// parseDict returns a copy of a dictionary and whether it is structured. The copy is nil for one that is ignored.
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

// BuildDict returns a raw dictionary of at most desiredLen bytes of what the samples have in common, or nil if they are
// too small for one.
//
// It takes the most frequent segments from all over the samples, each part of them in turn, with what surrounds them as
// often, and never the same text twice. Equal samples give equal dictionaries.
func BuildDict(samples [][]byte, desiredLen int) []byte {
	desiredLen = max(desiredLen, minDict)
	text := bytes.Join(samples, nil)
	if len(text) < minRaw {
		return nil
	}
	counts := countGrams(text)
	partLen := max(len(text)/(desiredLen/segmentLen), segmentLen)

	// What is taken first goes to the end, from where the offsets of matches are shortest.
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
		dict = dict[1:] // it would look structured
	}
	return dict
}

// grams tells of each sequence of gramLen bytes how often it occurs again. Those whose hashes are equal are one.
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
	const golden = 0x9e3779b97f4a7c15 // spreads neighbours
	return binary.LittleEndian.Uint64(text) * golden >> g.shift
}

// best returns the segment of text whose grams occur again most often of those between start and end. It is as long as
// its surroundings occur at least half as often, up to limit, and empty if nothing occurs again.
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

// forget makes the grams of a segment count for nothing.
func (g grams) forget(segment []byte) {
	for i := range len(segment) - gramLen + 1 {
		g.again[g.slot(segment[i:])] = 0
	}
}

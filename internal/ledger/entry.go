package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Body is the content of an entry.
type Body struct {
	// Seq is the number of the entry in its chain, from 1.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	// Kind says what Data is.
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// Entry is an entry of a chain.
type Entry struct {
	Body
	// Chain is the name of the chain, and Hash the hash of the entry.
	Chain, Hash string
}

// line is the form of an entry in its file. Prev is the hash of the entry before it, and Hash covers Prev, the name of the chain and the
// bytes of Body.
type line struct {
	Hash string          `json:"hash"`
	Prev string          `json:"prev"`
	Body json.RawMessage `json:"body"`
}

// genesis is the predecessor of the first entry of a chain.
var genesis = strings.Repeat("0", 2*sha256.Size)

// hashOf returns the hash of an entry.
func hashOf(chain, prev string, body []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "strata ledger 1\n%s\n%s\n", chain, prev)
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// encode returns the line of an entry, and its hash.
func encode(chain, prev string, b Body) (raw []byte, hash string, err error) {
	body, err := json.Marshal(b)
	if err != nil {
		return nil, "", err
	}
	hash = hashOf(chain, prev, body)
	if raw, err = json.Marshal(line{hash, prev, body}); err != nil {
		return nil, "", err
	}
	if len(raw)+1 > maxEntry {
		return nil, "", fmt.Errorf("the entry has %d bytes: the most is %d", len(raw)+1, maxEntry)
	}
	return append(raw, '\n'), hash, nil
}

// decode returns the parts of a line, and checks everything but its place in the chain.
func decode(chain string, raw []byte) (Entry, string, error) {
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return Entry{}, "", errors.New("the line is not an entry")
	}
	// Another reader must not see anything that the hash does not cover, such as a repeated field.
	if again, err := json.Marshal(l); err != nil || !bytes.Equal(again, raw) {
		return Entry{}, "", errors.New("the line is not in the form of an entry")
	}
	if hashOf(chain, l.Prev, l.Body) != l.Hash {
		return Entry{}, "", errors.New("the content does not belong to the hash: somebody has changed it")
	}
	e := Entry{Chain: chain, Hash: l.Hash}
	if err := json.Unmarshal(l.Body, &e.Body); err != nil {
		return Entry{}, "", errors.New("the body is not that of an entry")
	}
	return e, l.Prev, nil
}

// Decode decodes the data of an entry.
func (e Entry) Decode(into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return fmt.Errorf("read entry %d of the chain %s: %w", e.Seq, e.Chain, err)
	}
	return nil
}

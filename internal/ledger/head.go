package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/strata-platform/strata/internal/signing"
)

// Names of files in the folder of a ledger.
const (
	// HeadsFile contains the signed heads, and PublicKeyFile the public key of their signature.
	HeadsFile     = "heads.json"
	PublicKeyFile = "ledger.pub"
)

// longestHeads bounds the file of the heads, in bytes.
const longestHeads = 1 << 20

// Head is the end of a chain, and its beginning: the oldest entries of a long chain are removed.
type Head struct {
	// Seq and Hash are those of the last entry.
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
	// First is the number of the oldest entry, and Base the hash of the entry before it.
	First uint64 `json:"first"`
	Base  string `json:"base"`
}

// Heads are the ends of all chains at a time.
type Heads struct {
	Time   time.Time       `json:"time"`
	Chains map[string]Head `json:"chains"`
}

// signedHeads is the form of the heads in their file. The signature is that of [signing.Key.Sign] for the bytes of Heads.
type signedHeads struct {
	Heads     json.RawMessage `json:"heads"`
	Signature string          `json:"signature"`
}

// readHeads reads the heads and verifies their signature. Without a file the error is [fs.ErrNotExist].
func readHeads(dir string, key *signing.Key) (Heads, error) {
	heads := Heads{Chains: map[string]Head{}}
	path := filepath.Join(dir, HeadsFile)
	if info, err := os.Stat(path); err == nil && info.Size() > longestHeads {
		return heads, fmt.Errorf("%s has more than %d bytes", path, longestHeads)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return heads, err
	}
	var signed signedHeads
	if err := json.Unmarshal(content, &signed); err != nil {
		return heads, fmt.Errorf("%s is not a file of heads: %w", path, err)
	}
	if !key.Verify(signed.Heads, []byte(signed.Signature)) {
		return heads, fmt.Errorf("the signature in %s is not of this home's key", path)
	}
	if err := json.Unmarshal(signed.Heads, &heads); err != nil {
		return heads, fmt.Errorf("%s: %w", path, err)
	}
	return heads, nil
}

// writeHeads signs the heads and replaces their file in one step.
func writeHeads(dir string, key *signing.Key, heads Heads) error {
	content, err := json.Marshal(heads)
	if err != nil {
		return err
	}
	signature, err := key.Sign(content)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(signedHeads{content, string(signature)})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, HeadsFile)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(raw, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

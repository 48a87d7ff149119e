package archive

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
)

// keys holds the stable release key of each supported suite, as keys/SUITE.gpg, from Debian's package debian-archive-keyring.
//
//go:embed keys
var keys embed.FS

// keyOf returns the key of a suite, from keys or from the archive's own keys.
func (a *Archive) keyOf(suite string) (openpgp.EntityList, error) {
	var from fs.FS = keys
	if a.Keys != nil {
		from = a.Keys
	}
	key, err := fs.ReadFile(from, "keys/"+suite+".gpg")
	if err != nil {
		return nil, fmt.Errorf("this program has no key of Debian's suite %q: correct the suite of the recipe", suite)
	}
	ring, err := openpgp.ReadKeyRing(bytes.NewReader(key))
	if err != nil {
		return nil, fmt.Errorf("read the key of suite %s: %w", suite, err)
	}
	return ring, nil
}

// release is a verified Release file: the index of a suite's indexes.
type release struct {
	date time.Time
	// sums maps the names of the indexes to their SHA256 sums.
	sums map[string]string
}

// readRelease verifies the signature of an InRelease file, and reads it.
func readRelease(suite string, ring openpgp.EntityList, signed []byte) (release, error) {
	block, _ := clearsign.Decode(signed)
	if block == nil {
		return release{}, errors.New("it has no signature")
	}
	// Several keys sign a release. One known key is enough.
	if _, err := block.VerifySignature(ring, nil); err != nil {
		return release{}, fmt.Errorf("verify its signature: %w", err)
	}
	r := release{sums: map[string]string{}}
	var err error
	section, codename := "", ""
	for line := range strings.Lines(string(block.Plaintext)) {
		if rest, nested := strings.CutPrefix(line, " "); nested {
			if fields := strings.Fields(rest); section == "SHA256" && len(fields) == 3 {
				r.sums[fields[2]] = fields[0]
			}
			continue
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch section = name; name {
		case "Codename":
			codename = value
		case "Date":
			if r.date, err = time.Parse(time.RFC1123, value); err != nil {
				return release{}, fmt.Errorf("read its date: %w", err)
			}
		}
	}
	if codename != suite {
		return release{}, fmt.Errorf("it is the release of suite %q", codename)
	}
	return r, nil
}

package parts

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // Git's own hash.
	"encoding/binary"
	"fmt"
	"io"
)

// objectKinds are the numbers of the kinds of objects in a pack.
var objectKinds = map[string]byte{"commit": 1, "tree": 2, "blob": 3}

// WriteBundle writes the commit as a branch in a Git bundle, a file from which git clones and fetches. Equal trees have equal bundles,
// which the bundles of the command git do not promise. The formats are those of gitformat-bundle(5), version 2, and
// gitformat-pack(5).
func (t Tree) WriteBundle(w io.Writer, branch string) error {
	var objects bytes.Buffer
	count, seen := uint32(0), map[string]bool{}
	var failed error
	commit := hashes{func(kind string, content []byte) {
		if key := kind + "\x00" + string(content); !seen[key] && failed == nil {
			seen[key] = true
			count++
			failed = pack(&objects, objectKinds[kind], content)
		}
	}}.commitOf(t.files)
	if failed != nil {
		return fmt.Errorf("write the bundle of layer 3: %w", failed)
	}
	packed := append([]byte("PACK"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 2), count)...)
	packed = append(packed, objects.Bytes()...)
	sum := sha1.Sum(packed) //nolint:gosec // See above.
	if _, err := fmt.Fprintf(w, "# v2 git bundle\n%s refs/heads/%s\n\n%s%s", commit, branch, packed, sum[:]); err != nil {
		return fmt.Errorf("write the bundle of layer 3: %w", err)
	}
	return nil
}

// pack writes an object: its kind and size, seven bits in each byte but four in the first, and its compressed content.
func pack(w *bytes.Buffer, kind byte, content []byte) error {
	size := len(content)
	next := kind<<4 | byte(size&0x0f)
	for size >>= 4; size > 0; size >>= 7 {
		w.WriteByte(next | 0x80)
		next = byte(size & 0x7f)
	}
	w.WriteByte(next)
	compressed := zlib.NewWriter(w)
	if _, err := compressed.Write(content); err != nil {
		return err
	}
	return compressed.Close()
}

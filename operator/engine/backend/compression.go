package backend

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/strata-platform/strata/operator/untrusted"
)

// Pulumi recognizes a compressed file by its first bytes (package sdk/go/common/encoding), and not by its name. It knows
// these two compressions.
var (
	gzipMagic = []byte{0x1f, 0x8b, 8}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// zstdWindow bounds the memory that a zstd file can demand, in bytes. Pulumi's own files need at most 8 MiB.
const zstdWindow = 64 << 20

// compressed reports whether the content of a state file is compressed.
func compressed(raw []byte) bool {
	return bytes.HasPrefix(raw, gzipMagic) || bytes.HasPrefix(raw, zstdMagic)
}

// Decompress returns the content of a state file, decompressed if it is compressed. A content larger than MaxState is an error.
func Decompress(raw []byte) ([]byte, error) {
	if !compressed(raw) {
		return raw, nil
	}
	return decompress(raw, MaxState)
}

// decompress returns the decompressed content of a compressed state file. If it has more than limit bytes, the error is
// [untrusted.ErrTooLarge], and decompress returns the bytes that it has decompressed.
func decompress(raw []byte, limit int64) ([]byte, error) {
	if bytes.HasPrefix(raw, gzipMagic) {
		reader, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("decompress it with gzip: %w", err)
		}
		return readAtMost(reader, limit, "gzip")
	}
	reader, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil, fmt.Errorf("decompress it with zstd: %w", err)
	}
	defer reader.Close()
	return readAtMost(reader, limit, "zstd")
}

// readAtMost reads a decompressor to its end, or to the first byte after limit.
func readAtMost(reader io.Reader, limit int64, method string) ([]byte, error) {
	state, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return state, fmt.Errorf("decompress it with %s: %w", method, err)
	}
	if int64(len(state)) > limit {
		return state, untrusted.ErrTooLarge
	}
	return state, nil
}

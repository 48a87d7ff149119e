// Package gozstd replaces github.com/dolthub/gozstd, which binds the C library of zstd, so that Dolt can be built without a C
// compiler.
//
// It has the part of that module's API that Dolt uses, and the same format: each kind of Dolt can read the databases of the
// other. Its output has other bytes, and is a little longer.
package gozstd

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// window is the maximum distance of a match in bytes. Dolt's chunks have a few KiB, and the memory of a coder grows with the
// window.
const window = 512 << 10

// Compress appends the compressed src to dst and returns the result. It appends nothing if src is empty.
func Compress(dst, src []byte) []byte { return CompressDict(dst, src, nil) }

// CompressDict is Compress with a dictionary. Nil means none.
func CompressDict(dst, src []byte, dict *CDict) []byte {
	if len(src) == 0 {
		return dst
	}
	if dict == nil {
		dict = &plainCDict
	}
	encoder := dict.take()
	defer dict.idle.Put(encoder)
	return encoder.EncodeAll(src, dst)
}

// Decompress appends the decompressed src to dst and returns the result. It appends nothing if src is empty.
func Decompress(dst, src []byte) ([]byte, error) { return DecompressDict(dst, src, nil) }

// DecompressDict is Decompress with the dictionary that src was compressed with. Nil means none.
func DecompressDict(dst, src []byte, dict *DDict) ([]byte, error) {
	if dict == nil {
		dict = &plainDDict
	}
	decoder := dict.take()
	defer dict.idle.Put(decoder)
	out, err := decoder.DecodeAll(src, dst)
	if err != nil {
		return dst, fmt.Errorf("cannot decompress invalid src of %d bytes: %w", len(src), err)
	}
	return out, nil
}

// The dictionaries for calls without one.
var (
	plainCDict CDict
	plainDDict DDict
)

// A CDict is a dictionary for compression. It is safe for concurrent use.
//
// An encoder belongs to one dictionary, and has tables of megabytes. Dolt keeps a dictionary for each group of chunks when it
// archives, so idle encoders are in a pool, where the garbage collector can free them.
type CDict struct {
	options []zstd.EOption
	idle    sync.Pool // of *zstd.Encoder
}

// NewCDict returns a dictionary of BuildDict, or of another trainer of zstd, for compression.
func NewCDict(dict []byte) (*CDict, error) {
	content, structured, err := parseDict(dict)
	if err != nil {
		return nil, err
	}
	d := &CDict{}
	switch {
	case structured:
		d.options = []zstd.EOption{zstd.WithEncoderDict(content)}
	case content != nil:
		d.options = []zstd.EOption{zstd.WithEncoderDictRaw(0, content)}
	}
	encoder, err := d.newEncoder()
	if err != nil {
		return nil, fmt.Errorf("read a dictionary of %d bytes: %w", len(dict), err)
	}
	d.idle.Put(encoder)
	return d, nil
}

func (d *CDict) newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, append([]zstd.EOption{
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(window),
	}, d.options...)...)
}

func (d *CDict) take() *zstd.Encoder {
	if encoder, ok := d.idle.Get().(*zstd.Encoder); ok {
		return encoder
	}
	encoder, err := d.newEncoder()
	if err != nil {
		panic(fmt.Sprintf("gozstd: read a valid dictionary again: %v", err))
	}
	return encoder
}

// A DDict is a dictionary for decompression. It is safe for concurrent use.
type DDict struct {
	options []zstd.DOption
	idle    sync.Pool // of *zstd.Decoder
}

// NewDDict returns a dictionary of BuildDict, or of another trainer of zstd, for decompression.
func NewDDict(dict []byte) (*DDict, error) {
	content, structured, err := parseDict(dict)
	if err != nil {
		return nil, err
	}
	d := &DDict{}
	switch {
	case structured:
		d.options = []zstd.DOption{zstd.WithDecoderDicts(content)}
	case content != nil:
		d.options = []zstd.DOption{zstd.WithDecoderDictRaw(0, content)}
	}
	decoder, err := d.newDecoder()
	if err != nil {
		return nil, fmt.Errorf("read a dictionary of %d bytes: %w", len(dict), err)
	}
	d.idle.Put(decoder)
	return d, nil
}

func (d *DDict) newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, append([]zstd.DOption{zstd.WithDecoderConcurrency(1)}, d.options...)...)
}

func (d *DDict) take() *zstd.Decoder {
	if decoder, ok := d.idle.Get().(*zstd.Decoder); ok {
		return decoder
	}
	decoder, err := d.newDecoder()
	if err != nil {
		panic(fmt.Sprintf("gozstd: read a valid dictionary again: %v", err))
	}
	return decoder
}

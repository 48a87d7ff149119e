package unpack

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

// zstdMemory bounds the window of a zstd stream in bytes: that of the command's highest level without --ultra is 8 MB.
const zstdMemory = 128 << 20

// stream is a decompressed layer. A goroutine decompresses and hashes ahead of the reader, so that two cores share the work.
type stream struct {
	chunks  chan []byte
	free    chan []byte
	current []byte
	left    []byte
	// failure is the error that ended the stream; readable after chunks is closed.
	failure error
	hash    hash.Hash
	count   int64
	cancel  context.CancelFunc
	stopped chan struct{}
}

// open starts the decompression of a layer that may have at most limit bytes, or any number if limit is 0.
func open(ctx context.Context, compressed io.Reader, limit int64) (*stream, error) {
	buffered := bufio.NewReaderSize(compressed, 1<<18)
	plain, closePlain, err := decompress(buffered)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	const ahead, chunk = 4, 1 << 18
	s := &stream{chunks: make(chan []byte, ahead), free: make(chan []byte, ahead+2), hash: sha256.New(), cancel: cancel, stopped: make(chan struct{})}
	for range ahead + 2 {
		s.free <- make([]byte, chunk)
	}
	go func() {
		defer close(s.stopped)
		defer closePlain()
		defer close(s.chunks)
		s.failure = s.fill(ctx, plain, limit)
	}()
	return s, nil
}

// decompress detects the compression of a layer by its first bytes. Its media type is not trusted.
func decompress(r *bufio.Reader) (io.Reader, func(), error) {
	start, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, corrupt(err)
		}
		return z, func() { z.Close() }, nil
	case bytes.Equal(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(zstdMemory))
		if err != nil {
			return nil, nil, corrupt(err)
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

// fill decompresses until the end, the limit, or the end of ctx.
func (s *stream) fill(ctx context.Context, plain io.Reader, limit int64) error {
	var total int64
	for {
		var chunk []byte
		select {
		case chunk = <-s.free:
		case <-ctx.Done():
			return ctx.Err()
		}
		n, err := io.ReadFull(plain, chunk[:cap(chunk)])
		if total += int64(n); limit > 0 && total > limit {
			return fault.New(fault.TooLarge, "image", "its layers have more bytes after decompression than this machine allows")
		}
		s.hash.Write(chunk[:n])
		if n > 0 {
			select {
			case s.chunks <- chunk[:n]:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if errors.Is(err, io.EOF) || (errors.Is(err, io.ErrUnexpectedEOF) && n < cap(chunk) && endOf(plain)) {
			return io.EOF
		}
		if err != nil {
			return corrupt(err)
		}
	}
}

// endOf reports whether r has ended regularly. io.ReadFull hides the difference between a short and a damaged stream.
func endOf(r io.Reader) bool {
	n, err := r.Read(make([]byte, 1))
	return n == 0 && errors.Is(err, io.EOF)
}

// Read reads the decompressed layer.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		if s.current != nil {
			s.free <- s.current
			s.current = nil
		}
		chunk, more := <-s.chunks
		if !more {
			return 0, s.failure
		}
		s.current, s.left = chunk, chunk
		s.count += int64(len(chunk))
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// Close ends the decompression.
func (s *stream) Close() {
	s.cancel()
	<-s.stopped
}

// digest returns the digest of the decompressed layer after its end.
func (s *stream) digest() string { return "sha256:" + hex.EncodeToString(s.hash.Sum(nil)) }

// explain gives errors of the archive's format their kind.
func explain(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, tar.ErrFieldTooLong) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corrupt(err)
	}
	return err
}

// corrupt returns the error for a stream that is not a compressed tar archive.
func corrupt(cause error) error {
	if kind := fault.Of(cause); kind != "" || errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return &fault.Error{Kind: fault.Corrupt, Object: "layer", Why: "it is not a tar archive, plain or compressed by gzip or zstd", Cause: cause}
}

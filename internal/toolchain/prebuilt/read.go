package prebuilt

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// mostWindow bounds the memory of the decompression, in bytes. Write uses 8 MB.
const mostWindow = 16 << 20

// A Reader reads one bundle.
type Reader struct {
	Manifest Manifest
	archive  *tar.Reader
	close    func()
}

// Read reads the manifest of a bundle and returns an error unless it has a digest, SHA-256 in hexadecimal. The caller
// closes the reader.
func Read(r io.Reader, digest string) (*Reader, error) {
	decompressor, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return nil, err
	}
	bundle := &Reader{archive: tar.NewReader(decompressor), close: decompressor.Close}
	if err := bundle.readManifest(digest); err != nil {
		decompressor.Close()
		return nil, err
	}
	return bundle, nil
}

// Close frees the memory of the reader.
func (r *Reader) Close() { r.close() }

func (r *Reader) readManifest(digest string) error {
	entry, err := r.archive.Next()
	switch {
	case err != nil:
		return unreadable(err)
	case entry.Name != manifestName || entry.Typeflag != tar.TypeReg || entry.Size > mostManifest:
		return fmt.Errorf("it does not begin with %s: it is not a bundle of `make release`", manifestName)
	}
	content, err := io.ReadAll(r.archive)
	if err != nil {
		return unreadable(err)
	}
	r.Manifest, err = decode(content, digest)
	return err
}

// Extract writes the named groups into folders below dir, which are named like the groups' folders, and returns an error for
// any entry that the manifest does not describe. It calls report with the number of bytes written so far and to write in all.
// After an error, dir contains some of the files.
func (r *Reader) Extract(dir string, names []string, report func(done, all int64)) error {
	wanted := map[string][]place{}
	var all, done int64
	for _, g := range r.Manifest.Groups {
		if !slices.Contains(names, g.Name) {
			continue
		}
		for _, f := range g.Files {
			if len(wanted[f.SHA256]) == 0 {
				all += f.Size
			}
			mode := os.FileMode(0o644)
			if f.Executable {
				mode = 0o755
			}
			wanted[f.SHA256] = append(wanted[f.SHA256], place{filepath.Join(dir, g.Folder, filepath.FromSlash(f.Path)), mode})
		}
	}
	return r.walk(func(b blob) error {
		places := wanted[b.digest]
		if len(places) == 0 {
			return nil // Next skips the content.
		}
		counted := &counter{reader: r.archive, add: func(n int64) {
			done += n
			report(done, all)
		}}
		return write(counted, b, places)
	})
}

// walk calls visit for each entry. It returns an error for any entry that the manifest does not describe.
func (r *Reader) walk(visit func(blob) error) error {
	for _, b := range r.Manifest.blobs() {
		entry, err := r.archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return unreadable(io.ErrUnexpectedEOF)
		case err != nil:
			return unreadable(err)
		case entry.Name != blobs+b.digest || entry.Typeflag != tar.TypeReg || entry.Size != b.size:
			return fmt.Errorf("it contains %q (%d bytes) where its manifest lists %s (%d bytes): somebody changed it", entry.Name, entry.Size, blobs+b.digest, b.size)
		}
		if err := visit(b); err != nil {
			return err
		}
	}
	switch entry, err := r.archive.Next(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return unreadable(err)
	default:
		return fmt.Errorf("it contains %q, which its manifest does not list: somebody changed it", entry.Name)
	}
}

// A place is a file to write.
type place struct {
	path string
	mode os.FileMode
}

// write writes a content to its places: a file, and hard links to it.
func write(content io.Reader, b blob, places []place) error {
	first := places[0]
	for _, p := range places {
		if err := os.MkdirAll(filepath.Dir(p.path), 0o755); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(first.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, first.mode)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := copyVerified(file, content, b); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(first.path), err)
	}
	if err := file.Close(); err != nil {
		return err
	}
	for _, p := range places[1:] {
		if err := os.Link(first.path, p.path); err != nil {
			return err
		}
	}
	return nil
}

// copyVerified copies a content, and returns an error unless it has its digest.
func copyVerified(to io.Writer, content io.Reader, b blob) error {
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, hash), content); err != nil {
		return unreadable(err)
	}
	if found := hex.EncodeToString(hash.Sum(nil)); found != b.digest {
		return fmt.Errorf("it has the SHA-256 digest %s, not %s: somebody changed it", found, b.digest)
	}
	return nil
}

// unreadable explains an error of the archive's format. It keeps errors of the source.
func unreadable(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("it ends too early: copy or download it again")
	case errors.Is(err, tar.ErrHeader), errors.Is(err, zstd.ErrMagicMismatch), errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, zstd.ErrDecoderSizeExceeded),
		errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrReservedBlockType), errors.Is(err, zstd.ErrBlockTooSmall), errors.Is(err, zstd.ErrCompressedSizeTooBig):
		return fmt.Errorf("it is damaged, or not a bundle of `make release` (%w)", err)
	}
	return err
}

// A counter counts the bytes that a reader returns.
type counter struct {
	reader io.Reader
	add    func(int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	c.add(int64(n))
	return n, err
}

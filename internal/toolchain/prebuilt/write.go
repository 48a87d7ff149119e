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
	"time"

	"github.com/klauspost/compress/zstd"
)

// Write writes the bundle of a manifest. folder returns the folder that contains the files of a group. Equal manifests give
// equal bundles.
func (m Manifest) Write(w io.Writer, folder func(Group) string) error {
	content, _, err := m.Encode()
	if err != nil {
		return err
	}
	// One thread at a time, so that the output depends on the input alone.
	compressor, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressor)
	if err := errors.Join(archive.WriteHeader(header(manifestName, int64(len(content)))), ignore(archive.Write(content))); err != nil {
		return err
	}
	written := map[string]bool{}
	for _, g := range m.Groups {
		for _, f := range g.Files {
			if written[f.SHA256] {
				continue
			}
			written[f.SHA256] = true
			if err := add(archive, f, filepath.Join(folder(g), filepath.FromSlash(f.Path))); err != nil {
				return fmt.Errorf("write %s: %w", f.Path, err)
			}
		}
	}
	return errors.Join(archive.Close(), compressor.Close())
}

// add adds the content of a file.
func add(archive *tar.Writer, f File, name string) error {
	opened, err := os.Open(name)
	if err != nil {
		return err
	}
	defer opened.Close()
	if err := archive.WriteHeader(header(blobs+f.SHA256, f.Size)); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(archive, hash), opened); err != nil {
		return err
	}
	if hex.EncodeToString(hash.Sum(nil)) != f.SHA256 {
		return errors.New("it has changed in the meantime: try again")
	}
	return nil
}

// header returns the header of an entry without a time or an owner.
func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
}

func ignore(_ int, err error) error { return err }

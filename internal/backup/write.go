package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"
)

// File is a file for a backup: content, or the file at a path that nobody changes until the backup is written.
type File struct {
	// Path is the path of the member.
	Path    string
	Content []byte
	// From is the path of the file with the content; empty means Content.
	From string
}

// open opens the content.
func (f File) open() (io.ReadCloser, error) {
	if f.From == "" {
		return io.NopCloser(bytes.NewReader(f.Content)), nil
	}
	return os.Open(f.From)
}

// Write writes a backup of files to a new file that only its owner can read, encrypted for recipients. It sets the manifest's
// Format and Members. It never overwrites a file, and an interrupted Write leaves none of that name.
func Write(ctx context.Context, path string, manifest Manifest, files []File, recipients ...age.Recipient) (Manifest, error) {
	manifest.Format, manifest.Members = Format, make([]Member, 0, len(files))
	for _, f := range files {
		member, err := measure(ctx, f)
		if err != nil {
			return manifest, fmt.Errorf("write the backup %s: %s: %w", path, f.Path, err)
		}
		manifest.Members = append(manifest.Members, member)
	}
	if err := manifest.check(); err != nil {
		return manifest, fmt.Errorf("write the backup %s: %w", path, err)
	}
	err := create(path, func(out io.Writer) error { return encode(ctx, out, manifest, files, recipients) })
	if errors.Is(err, fs.ErrExist) {
		err = errors.New("it exists, and a backup never replaces a file: name another file")
	}
	if err != nil {
		return manifest, fmt.Errorf("write the backup %s: %w", path, err)
	}
	return manifest, nil
}

// measure returns the member of a file.
func measure(ctx context.Context, f File) (Member, error) {
	in, err := f.open()
	if err != nil {
		return Member{}, err
	}
	defer in.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, reader{ctx, in})
	return Member{Path: f.Path, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// create writes a new file of mode 0600, durably: its name appears when its content is on disk.
func create(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	// A temporary file has the mode 0600.
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = write(tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	// Unlike a rename, a link never replaces a file.
	if err := os.Link(tmp.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// encode writes the archive.
func encode(ctx context.Context, out io.Writer, manifest Manifest, files []File, recipients []age.Recipient) error {
	raw, err := json.Marshal(manifest)
	if err == nil && len(raw) > maxManifest {
		err = fmt.Errorf("its manifest has %d bytes, and the limit is %d", len(raw), maxManifest)
	}
	if err != nil {
		return err
	}
	encrypted, err := age.Encrypt(out, recipients...)
	if err != nil {
		return err
	}
	// Git's packs, the largest members, are compressed already.
	compressed, err := gzip.NewWriterLevel(encrypted, gzip.BestSpeed)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	if err := add(archive, manifestName, int64(len(raw)), bytes.NewReader(raw)); err != nil {
		return err
	}
	for i, f := range files {
		in, err := f.open()
		if err != nil {
			return err
		}
		err = add(archive, f.Path, manifest.Members[i].Size, reader{ctx, in})
		if err := errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return errors.Join(archive.Close(), compressed.Close(), encrypted.Close())
}

// add adds an entry to the archive.
func add(archive *tar.Writer, name string, size int64, in io.Reader) error {
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := io.Copy(archive, in)
	return err
}

// reader ends with the context's error when the context ends.
type reader struct {
	ctx context.Context
	in  io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(b)
}

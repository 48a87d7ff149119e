// Package blobs implements the contents of objects: files that are whole, on disk and never changed once they have a
// name. Which of them are in use, and for what, is for the caller to know.
package blobs

import (
	"crypto/md5" //nolint:gosec // a checksum of Cloud Storage, not a protection
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// partial ends the name of a blob that is still being written.
const partial = ".partial"

// Store keeps blobs in a folder, one file each.
type Store struct{ dir string }

// Blob is a content that is on disk.
type Blob struct {
	// ID is the name of its file.
	ID     string
	Size   int64
	CRC32C uint32 // Castagnoli
	MD5    [md5.Size]byte
}

// Open opens the store in dir, which is made where it is missing.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the folder of objects: %w", err)
	}
	return &Store{dir: dir}, nil
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id) }

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Put writes a content. It is on disk when Put returns; where the content cannot be read to its end, nothing is kept.
func (s *Store) Put(content io.Reader) (Blob, error) {
	id, err := s.Begin()
	if err != nil {
		return Blob{}, err
	}
	if _, err := s.Append(id, 0, content); err != nil {
		return Blob{}, errors.Join(err, s.Remove(id))
	}
	blob, err := s.Finish(id)
	if err != nil {
		return Blob{}, errors.Join(err, s.Remove(id))
	}
	return blob, nil
}

// Begin makes an empty blob that Append can add to until Finish.
func (s *Store) Begin() (string, error) {
	id := newID()
	file, err := os.OpenFile(s.path(id)+partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	return id, file.Close()
}

// Append adds to a blob that was begun, at offset, and returns its new size. What is there beyond offset was never
// acknowledged, and is dropped. What was added is on disk when Append returns, also where content broke off.
func (s *Store) Append(id string, offset int64, content io.Reader) (int64, error) {
	file, err := os.OpenFile(s.path(id)+partial, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if err := file.Truncate(offset); err != nil {
		return 0, err
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	added, copied := io.Copy(file, content)
	return offset + added, errors.Join(copied, file.Sync(), file.Close())
}

// Finish gives a blob that was begun its name, and returns it. It can be called again.
func (s *Store) Finish(id string) (Blob, error) {
	blob := Blob{ID: id}
	file, err := os.Open(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		file, err = os.Open(s.path(id) + partial)
	}
	if err != nil {
		return Blob{}, err
	}
	defer file.Close()
	crc, sum := crc32.New(crc32.MakeTable(crc32.Castagnoli)), md5.New() //nolint:gosec // as above
	if blob.Size, err = io.Copy(io.MultiWriter(crc, sum), file); err != nil {
		return Blob{}, err
	}
	blob.CRC32C = crc.Sum32()
	sum.Sum(blob.MD5[:0])
	if err := os.Rename(file.Name(), s.path(id)); err != nil {
		return Blob{}, err
	}
	return blob, s.sync()
}

// Link gives a blob a second, independent name.
func (s *Store) Link(id string) (string, error) {
	again := newID()
	if err := os.Link(s.path(id), s.path(again)); err != nil {
		return "", err
	}
	return again, s.sync()
}

// sync makes what was renamed and linked survive a loss of power.
func (s *Store) sync() error {
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Open opens a blob for reading. Where there is none the error is fs.ErrNotExist. What is open can be read to its end,
// also when it is removed meanwhile.
func (s *Store) Open(id string) (*os.File, error) { return os.Open(s.path(id)) }

// Remove removes a blob, finished or not. It succeeds where there is none.
func (s *Store) Remove(id string) error {
	for _, path := range []string{s.path(id), s.path(id) + partial} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Sweep removes every blob that is not in use: what a process that was killed had written and not told of. Nothing may
// be written meanwhile.
func (s *Store) Sweep(inUse map[string]bool) error {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if inUse[strings.TrimSuffix(file.Name(), partial)] {
			continue
		}
		if err := os.Remove(s.path(file.Name())); err != nil {
			return fmt.Errorf("sweep the folder of objects: %w", err)
		}
	}
	return nil
}

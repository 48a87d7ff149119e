// Package blobs stores the contents of objects: files on disk that are complete and immutable as soon as they have
// their final name. The caller records which blobs are in use.
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

// partial ends the file name of an unfinished blob.
const partial = ".partial"

// Store keeps blobs in a folder, one file each.
type Store struct{ dir string }

// Blob describes a content on disk.
type Blob struct {
	// ID is the name of the blob's file.
	ID     string
	Size   int64
	CRC32C uint32 // Castagnoli
	MD5    [md5.Size]byte
}

// Open opens the store in dir. It creates dir if that does not exist.
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

// Put writes a content. The content is on disk when Put returns. If reading the content fails, Put removes the blob.
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

// Begin creates an empty blob. Append adds to the blob until Finish.
func (s *Store) Begin() (string, error) {
	id := newID()
	file, err := os.OpenFile(s.path(id)+partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	return id, file.Close()
}

// Append writes content at an offset of an unfinished blob and returns the new size in bytes. It removes the old bytes
// beyond the offset, because the emulator has not acknowledged them. Even if reading the content fails, the bytes
// before the failure are on disk when Append returns.
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

// Finish gives an unfinished blob its final name and returns the blob. It also accepts a finished blob.
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

// Link creates a second blob with the content of a blob, and returns its ID. Removing one does not affect the other.
func (s *Store) Link(id string) (string, error) {
	again := newID()
	if err := os.Link(s.path(id), s.path(again)); err != nil {
		return "", err
	}
	return again, s.sync()
}

// sync makes renames and links survive a power failure.
func (s *Store) sync() error {
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Open opens a blob for reading. If there is no such blob, the error is fs.ErrNotExist. An open blob stays readable to
// its end after Remove.
func (s *Store) Open(id string) (*os.File, error) { return os.Open(s.path(id)) }

// Remove removes a blob, finished or not. It succeeds if there is no such blob.
func (s *Store) Remove(id string) error {
	for _, path := range []string{s.path(id), s.path(id) + partial} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Sweep removes all blobs except those in inUse, because a process may have been killed after it had written a blob and
// before it recorded the blob. The caller must not write blobs during Sweep.
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

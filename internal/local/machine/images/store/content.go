package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

// LargestManifest bounds manifests, indexes and configurations in bytes: they are read into memory.
const LargestManifest = 4 << 20

// Has reports whether the store contains a blob, and returns its size in bytes.
func (s *Store) Has(digest v1.Hash) (int64, bool) {
	path, err := s.blob(digest)
	if err != nil {
		return 0, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}

// Keep is like Has, and protects the blob from Collect for the grace period of new content.
func (s *Store) Keep(ctx context.Context, digest v1.Hash) (found bool, err error) {
	path, err := s.blob(digest)
	if err != nil {
		return false, err
	}
	return s.touch(ctx, path)
}

// KeepImage is Keep for the EROFS file of a configuration.
func (s *Store) KeepImage(ctx context.Context, config v1.Hash) (found bool, err error) {
	if _, err := s.blob(config); err != nil {
		return false, err
	}
	if found, err = s.touch(ctx, s.About(config)); !found || err != nil {
		return false, err
	}
	return s.touch(ctx, s.Image(config))
}

// touch makes a file new for Collect, and reports whether it exists.
func (s *Store) touch(ctx context.Context, path string) (found bool, err error) {
	err = s.locked(ctx, false, func() error {
		now := time.Now()
		err := os.Chtimes(path, now, now)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found = err == nil
		return err
	})
	return found, err
}

// Blob opens a blob. A missing one is an error of kind NotFound.
func (s *Store) Blob(digest v1.Hash) (*os.File, error) {
	path, err := s.blob(digest)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "blob "+digest.String(), "the store does not contain it")
	}
	return file, err
}

// Read returns a manifest, index or configuration.
func (s *Store) Read(digest v1.Hash) ([]byte, error) {
	file, err := s.Blob(digest)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, LargestManifest+1))
	if err != nil {
		return nil, err
	}
	if len(content) > LargestManifest {
		return nil, fault.New(fault.TooLarge, "blob "+digest.String(), "it is larger than a manifest or configuration may be: %d bytes", LargestManifest)
	}
	return content, nil
}

// Put stores a small blob, such as a manifest, and returns its digest.
func (s *Store) Put(ctx context.Context, content []byte) (v1.Hash, error) {
	sum := sha256.Sum256(content)
	digest := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
	if found, err := s.Keep(ctx, digest); found || err != nil {
		return digest, err
	}
	path, err := s.blob(digest)
	if err != nil {
		return digest, err
	}
	return digest, Explain("blob "+digest.String(), replace(path, content))
}

// Commit makes a complete file from Take a blob. The caller has verified that the content has the digest. Commit closes the
// file.
func (s *Store) Commit(file *os.File, digest v1.Hash) error {
	path, err := s.blob(digest)
	if err != nil {
		file.Close()
		return err
	}
	return Explain("blob "+digest.String(), commit(file, path))
}

// CommitImage makes a complete file from Take the EROFS file of a configuration, and stores its description. It closes the
// file.
func (s *Store) CommitImage(file *os.File, config v1.Hash, about any) error {
	if _, err := s.blob(config); err != nil {
		file.Close()
		return err
	}
	content, err := json.Marshal(about)
	if err != nil {
		file.Close()
		return fmt.Errorf("encode the description of image %s: %w", config, err)
	}
	// The description first: the EROFS file's existence says that both are complete.
	if err := replace(s.About(config), content); err != nil {
		file.Close()
		return Explain("image "+config.String(), err)
	}
	return Explain("image "+config.String(), commit(file, s.Image(config)))
}

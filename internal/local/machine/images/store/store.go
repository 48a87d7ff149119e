// Package store keeps images in a folder: content by its digest, manifests by reference, and for each image one EROFS file.
// The folder is an OCI image layout. Several processes may use it at once, and a kill at any moment leaves it intact.
//
//	oci-layout, index.json    the layout; the index holds the references in the annotation org.opencontainers.image.ref.name
//	blobs/sha256/HEX          manifests, configurations and layers
//	erofs/HEX.erofs, .json    an unpacked image and its description, by the digest of its configuration
//	partial/                  unfinished files; interrupted downloads continue there
//	leases/                   one file for each lease, locked by its holders
//	lock                      serialises changes of index.json and garbage collection
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

// Store is a folder of images. Its methods are safe for concurrent use.
type Store struct {
	dir string
	// Reserve is the free space in bytes that Space leaves on the disk.
	Reserve int64
}

// reserve is more than what pods must leave on the disk, so that an image of one team cannot evict the pods of others.
const reserve = 3 << 30

const (
	blobs   = "blobs/sha256"
	images  = "erofs"
	partial = "partial"
	leases  = "leases"
	// The suffixes of the files of an unpacked image.
	imageSuffix, aboutSuffix = ".erofs", ".json"
)

// Open opens the store in dir and creates it if it does not exist.
func Open(dir string) (*Store, error) {
	for _, folder := range []string{blobs, images, partial, leases} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, fmt.Errorf("create the store of images: %w", err)
		}
	}
	layout := filepath.Join(dir, "oci-layout")
	if _, err := os.Stat(layout); errors.Is(err, fs.ErrNotExist) {
		if err := replace(layout, []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
			return nil, fmt.Errorf("create the store of images: %w", err)
		}
	}
	return &Store{dir: dir, Reserve: reserve}, nil
}

// Dir returns the folder of the store.
func (s *Store) Dir() string { return s.dir }

// Partial returns the path of an unfinished file. The name has no slash.
func (s *Store) Partial(name string) string { return filepath.Join(s.dir, partial, name) }

// blob returns the path of a blob. Digests come from clients: only SHA-256 is accepted, whose form v1.NewHash checks.
func (s *Store) blob(digest v1.Hash) (string, error) {
	const hexDigits = 64
	if digest.Algorithm != "sha256" || len(digest.Hex) != hexDigits {
		return "", fault.New(fault.Corrupt, "digest "+digest.String(), "the algorithm is not sha256")
	}
	for _, c := range digest.Hex {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", fault.New(fault.Corrupt, "digest", "it is not a number in lower-case hexadecimal digits")
		}
	}
	return filepath.Join(s.dir, blobs, digest.Hex), nil
}

// Image returns the path of the EROFS file for the configuration with this digest. The file need not exist.
func (s *Store) Image(config v1.Hash) string {
	return filepath.Join(s.dir, images, config.Hex+imageSuffix)
}

// About returns the path of the description of an EROFS file. It exists if the EROFS file does.
func (s *Store) About(config v1.Hash) string {
	return filepath.Join(s.dir, images, config.Hex+aboutSuffix)
}

// Space returns an error of kind NoSpace if need bytes do not fit on the disk beside the reserve.
func (s *Store) Space(object string, need int64) error {
	free, err := free(s.dir)
	if err != nil {
		return fmt.Errorf("find the free space of %s: %w", s.dir, err)
	}
	if free < need+s.Reserve {
		return &fault.Error{Kind: fault.NoSpace, Object: object,
			Why:  fmt.Sprintf("it needs %d MB on the disk: %d MB are free, and %d MB of these stay free", need>>20, free>>20, s.Reserve>>20),
			Next: "delete files or unused images"}
	}
	return nil
}

// Writer returns a writer to w that checks the space before each write. The size of a layer after decompression, or of an upload,
// is not known before, and several at once may each have found enough space.
func (s *Store) Writer(object string, w io.Writer) io.Writer { return spaced{s, object, w} }

type spaced struct {
	store  *Store
	object string
	io.Writer
}

// Write implements io.Writer.
func (w spaced) Write(p []byte) (int, error) {
	if err := w.store.Space(w.object, int64(len(p))); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// Free returns the free space in bytes on the disk of the store.
func (s *Store) Free() (int64, error) { return free(s.dir) }

// Explain gives an error of a full disk its kind, and returns other errors as they are.
func Explain(object string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &fault.Error{Kind: fault.NoSpace, Object: object, Why: "the disk became full", Next: "delete files or unused images"}
	}
	return err
}

// locked calls change while this process has the store's lock.
func (s *Store) locked(ctx context.Context, exclusive bool, change func() error) error {
	lock, err := acquire(ctx, filepath.Join(s.dir, "lock"), exclusive)
	if err != nil {
		return fmt.Errorf("lock the store of images: %w", err)
	}
	defer lock.Close()
	return change()
}

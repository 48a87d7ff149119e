package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/strata-platform/strata/internal/local/cloud/core"
)

// Identify returns the identity of the emulated Google Cloud whose state is in a folder: a checksum of its certificate
// authority, which it never replaces. It works while an emulator serves the folder, too.
func Identify(dir string) (string, error) {
	a, err := readAuthority(filepath.Join(dir, authorityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s contains no emulated Google Cloud", dir)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(a.certificate.Raw)
	return hex.EncodeToString(sum[:]), nil
}

// CheckUnused returns an error unless a folder contains the state of an emulated Google Cloud that no process serves.
func CheckUnused(dir string) error {
	path := filepath.Join(dir, core.StoreFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s contains no emulated Google Cloud", dir)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("a process still serves the emulated Google Cloud in %s: stop it with `strata local stop` in its home", dir)
	}
	if err != nil {
		return fmt.Errorf("open the store of the emulated Google Cloud in %s: %w", dir, err)
	}
	return db.Close()
}

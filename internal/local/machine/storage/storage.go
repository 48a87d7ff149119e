// Package storage keeps the persistent volumes of a home: a folder for each, with its files and a record of its claim.
package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// These are the names of the provisioner in the annotation pv.kubernetes.io/provisioned-by. Earlier versions used the second
// name, for volumes without folders.
const (
	Provisioner        = "strata.dev/local"
	EarlierProvisioner = "strata.dev/simulated"
)

// Folder is the path of the folder of all volumes. It need not exist.
type Folder string

// Claim is the claim for which a volume was created.
type Claim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// pattern is the form of the names that Kubernetes' library for provisioners gives to volumes.
var pattern = regexp.MustCompile(`^pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Path returns the path of the folder with a volume's files. The folder need not exist.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name, "data") }

func (f Folder) record(name string) string { return filepath.Join(string(f), name, "claim.json") }

// Create creates a volume for a claim. It succeeds if the volume exists for a claim of the same namespace.
func (f Folder) Create(name string, claim Claim) error {
	if !pattern.MatchString(name) {
		return fmt.Errorf("create volume %q: its name is not pvc- with an ID", name)
	}
	recorded, err := f.claim(name)
	if err == nil && recorded.Namespace != claim.Namespace {
		return fmt.Errorf("create volume %s: it belongs to namespace %s", name, recorded.Namespace)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create volume %s: %w", name, err)
	}
	path := f.Path(name)
	// Without a record of its owner the folder belongs to root, like a new disk of Google Cloud.
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("create volume %s: %w", name, err)
	}
	// The umask may have removed bits of the mode.
	if err := os.Chmod(path, 0o755); err != nil {
		return fmt.Errorf("create volume %s: %w", name, err)
	}
	raw, err := json.Marshal(claim)
	if err == nil {
		err = home.WriteFile(f.record(name), raw)
	}
	if err != nil {
		return fmt.Errorf("create volume %s: %w", name, err)
	}
	return nil
}

// Find returns the path of the folder with the files of a volume for a pod of a namespace. It returns an error if the volume
// was created for another namespace: a PersistentVolume that names the folder of another team gets nothing.
func (f Folder) Find(name, namespace string) (string, error) {
	if !pattern.MatchString(name) {
		return "", fmt.Errorf("find volume %q: its name is not pvc- with an ID", name)
	}
	recorded, err := f.claim(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("find volume %s: the folder %s is missing: restore it from a backup, or delete the claim: %w", name, f.Path(name), err)
	case err != nil:
		return "", fmt.Errorf("find volume %s: %w", name, err)
	case recorded.Namespace != namespace:
		return "", fmt.Errorf("find volume %s: it belongs to another namespace", name)
	}
	info, err := os.Lstat(f.Path(name))
	if err != nil {
		return "", fmt.Errorf("find volume %s: %w", name, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("find volume %s: %s is not a folder", name, f.Path(name))
	}
	return f.Path(name), nil
}

// claim returns the recorded claim of a volume.
func (f Folder) claim(name string) (Claim, error) {
	var c Claim
	raw, err := os.ReadFile(f.record(name))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("decode %s: %w", f.record(name), err)
	}
	return c, nil
}

// Remove removes a volume with its files. It succeeds if the volume does not exist.
func (f Folder) Remove(name string) error {
	if !pattern.MatchString(name) {
		return fmt.Errorf("remove volume %q: its name is not pvc- with an ID", name)
	}
	// The record goes last, so that a volume that is removed in part still belongs to its namespace.
	for _, path := range []string{f.Path(name), filepath.Join(string(f), name)} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove volume %s: %w", name, err)
		}
	}
	return nil
}

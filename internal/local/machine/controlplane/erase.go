package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// Erase removes all data of a stopped control plane, including the persistent volumes, whose objects are part of the data. An
// interrupted Erase has removed either all data or none.
func Erase(h home.Home) error {
	err := FinishErase(h)
	if err == nil {
		err = os.Rename(h.Kubernetes(), h.ErasedKubernetes())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = FinishErase(h)
	}
	if err != nil {
		return fmt.Errorf("erase the control plane: %w", err)
	}
	return nil
}

// FinishErase removes the rest of an interrupted Erase.
func FinishErase(h home.Home) error {
	if _, err := os.Lstat(h.ErasedKubernetes()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(h.Volumes()); err != nil {
		return err
	}
	return os.RemoveAll(h.ErasedKubernetes())
}

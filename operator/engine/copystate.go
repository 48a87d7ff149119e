package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/bounds"
)

// stateFolder is the name of the folder in a run's folder that holds a copy of the stack's state.
const stateFolder = "state"

// copyState copies the state of the request's stack from a file backend into the run's folder, and returns the backend of the
// copy. Another backend is used as it is: Pulumi takes no lock for an operation that changes nothing.
func copyState(req Request, located backend.Backend, root *os.Root, dir string) (backend.Backend, error) {
	if located.Folder == "" {
		return located, nil
	}
	if err := root.Mkdir(stateFolder, 0o700); err != nil {
		return backend.Backend{}, fmt.Errorf("make the run's folder %s: %w", stateFolder, err)
	}
	folder, err := root.OpenRoot(stateFolder)
	if err != nil {
		return backend.Backend{}, fmt.Errorf("open the run's folder %s: %w", stateFolder, err)
	}
	defer folder.Close()
	state := backend.State{Backend: located, Parent: req.BackendFolder, Project: req.Project, Stack: req.Stack}
	copied, err := state.Copy(folder, filepath.Join(dir, stateFolder))
	failure := &Error{Operation: req.Operation, Stack: req.Stack, Reason: Failed, Err: err}
	switch over := bounds.As(err); {
	case err == nil:
		return copied, nil
	case over != nil:
		failure.Reason, failure.Message = TooLarge, over.Error()
	case errors.Is(err, fs.ErrNotExist):
		failure.Reason, failure.Message = StackMissing, "the stack does not exist in its backend"
	default:
		failure.Message = "the state cannot be read"
	}
	return backend.Backend{}, failure
}

package backend

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/operator/engine/bounds"
)

// State is the state of one stack. Its methods do nothing, and find nothing, for backends other than file backends.
type State struct {
	Backend

	// Parent is the folder that contains the file backend: [Choice.Folder].
	Parent string

	// Root is the folder that contains Parent and the backend folders of other teams. If Root is empty, Holder finds nothing.
	Root string

	// Project and Stack are the names of the project and of the stack, which an organization
	// may qualify.
	Project, Stack string

	// CloudProject is the Google Cloud project of providers whose inputs set none.
	CloudProject string
}

// base returns the stack's name without its organization.
func (s State) base() string { return s.Stack[strings.LastIndexByte(s.Stack, '/')+1:] }

// Missing reports whether the stack's state file is absent from its file backend.
// Missing returns false for other backends and if it cannot read the folder.
func (s State) Missing() bool {
	_, err := s.info()
	return errors.Is(err, fs.ErrNotExist)
}

// info returns the [fs.FileInfo] of the stack's state file. For backends other
// than file backends, it returns [errors.ErrUnsupported].
func (s State) info() (info fs.FileInfo, err error) {
	if s.Folder == "" {
		return nil, errors.ErrUnsupported
	}
	root, err := os.OpenRoot(s.Parent)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, suffix := range stateSuffixes {
		info, err = root.Stat(filepath.Join(s.Folder, stateBase(s.Project, s.base())+suffix))
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return info, err
}

// ShrinkState is the advice for a state that is too large.
const ShrinkState = "remove resources from it with pulumi state delete, or split the stack"

// MaxState bounds the size of a stack's state, in bytes. To load a larger state, pulumi would
// need more memory than a machine has for one run.
const MaxState = 64 << 20

// Bound returns a [*bounds.Error] if the state file is larger than MaxState.
func (s State) Bound() error {
	if info, err := s.info(); err == nil && info.Size() > MaxState {
		return bounds.Exceeded("the stack's state has %d bytes, and the limit is %d: %s", info.Size(), MaxState, ShrinkState)
	}
	return nil
}

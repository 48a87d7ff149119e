package backend

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/untrusted"
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

// Read returns the content of the stack's state file, decompressed; nil if the stack has no state. For backends other than
// file backends, it returns [errors.ErrUnsupported]. A state larger than MaxState is an error.
func (s State) Read() ([]byte, error) {
	var raw []byte
	err := s.inFolder(func(root *os.Root) error {
		name, _, err := s.newest(root)
		if err == nil {
			raw, err = untrusted.Read(root, name, MaxState)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		raw, err = Decompress(raw)
	}
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// Has reports whether the state has a resource of a type that is accepts. Has returns true for a state that it cannot read, as in a
// backend other than a file backend.
func (s State) Has(is func(resourceType string) bool) bool {
	content, err := s.Read()
	if err != nil || content == nil {
		return err != nil
	}
	var file struct {
		Checkpoint struct {
			Latest struct {
				Resources []struct {
					Type string `json:"type"`
				} `json:"resources"`
			} `json:"latest"`
		} `json:"checkpoint"`
	}
	if json.Unmarshal(content, &file) != nil {
		return true
	}
	for _, resource := range file.Checkpoint.Latest.Resources {
		if is(resource.Type) {
			return true
		}
	}
	return false
}

// info returns the [fs.FileInfo] of the stack's state file. For backends other
// than file backends, it returns [errors.ErrUnsupported].
func (s State) info() (info fs.FileInfo, err error) {
	err = s.inFolder(func(root *os.Root) error {
		_, info, err = s.newest(root)
		return err
	})
	return info, err
}

// inFolder calls do with the folder that contains the file backend. For other backends, it returns
// [errors.ErrUnsupported].
func (s State) inFolder(do func(root *os.Root) error) error {
	if s.Folder == "" {
		return errors.ErrUnsupported
	}
	root, err := os.OpenRoot(s.Parent)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root)
}

// newest returns the stack's state file. A stack has several if its compression has changed, and Pulumi uses the file that
// was modified last. If there is none, the error is [fs.ErrNotExist].
func (s State) newest(root *os.Root) (name string, info fs.FileInfo, err error) {
	for _, suffix := range stateSuffixes {
		file := filepath.Join(s.Folder, stateBase(s.Project, s.base())+suffix)
		found, err := root.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", nil, err
		case info == nil || !found.ModTime().Before(info.ModTime()):
			name, info = file, found
		}
	}
	if info == nil {
		return "", nil, fs.ErrNotExist
	}
	return name, info, nil
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

package backend

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// metaFile and metaContent are Pulumi's file that says how a file backend names its states: version 1 has a folder for
	// each project (pulumi/pulumi, pkg/backend/diy).
	metaFile    = ".pulumi/meta.yaml"
	metaContent = "version: 1\n"
)

// copyFolder is the name of the folder that holds a copy.
const copyFolder = "state"

// Copy copies the stack's state into a new file backend in the folder dir, whose opened folder is root, and returns the new
// backend. An operation on a copy neither waits for the lock of the stack nor holds it. If the stack has no state, the error is
// [fs.ErrNotExist]. Copy returns other backends than file backends as they are: Pulumi takes no lock for an operation that
// changes nothing.
func (s State) Copy(root *os.Root, dir string) (Backend, error) {
	if s.Folder == "" {
		return s.Backend, nil
	}
	content, err := s.Read()
	if err == nil && content == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Backend{}, fmt.Errorf("read the state: %w", err)
	}
	return s.WriteCopy(root, dir, content)
}

// WriteCopy is [State.Copy] with another content of the state file, not compressed. The returned backend has no
// [Backend.Folder], because it does not lie in [Choice.Folder].
func (s State) WriteCopy(root *os.Root, dir string, content []byte) (Backend, error) {
	for name, content := range map[string][]byte{
		metaFile: []byte(metaContent),
		stateBase(s.Project, s.base()) + stateSuffixes[0]: content,
	} {
		name = filepath.Join(copyFolder, name)
		err := root.MkdirAll(filepath.Dir(name), 0o700)
		if err == nil {
			err = root.WriteFile(name, content, 0o600)
		}
		if err != nil {
			return Backend{}, fmt.Errorf("copy the state: %w", err)
		}
	}
	return Backend{Address: fileScheme + "://" + filepath.Join(dir, copyFolder) + "?metadata=skip"}, nil
}

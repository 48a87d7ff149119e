package backend

import (
	"errors"
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

// Copy copies the stack's state into a new file backend, and returns this backend, which has no [Backend.Folder]. dst is the
// opened folder of the new backend, and path its absolute path. An operation on the copy neither waits for the lock of the
// stack nor holds it. If the stack has no state, the error is [fs.ErrNotExist]. For backends other than file backends, the
// error is [errors.ErrUnsupported].
func (s State) Copy(dst *os.Root, path string) (Backend, error) {
	if s.Folder == "" {
		return Backend{}, errors.ErrUnsupported
	}
	content, err := s.Read()
	if err == nil && content == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Backend{}, fmt.Errorf("read the state of stack %q: %w", s.Stack, err)
	}
	for name, content := range map[string][]byte{
		metaFile: []byte(metaContent),
		// Read has decompressed the state.
		stateBase(s.Project, s.base()) + stateSuffixes[0]: content,
	} {
		err := dst.MkdirAll(filepath.Dir(name), 0o700)
		if err == nil {
			err = dst.WriteFile(name, content, 0o600)
		}
		if err != nil {
			return Backend{}, fmt.Errorf("copy the state of stack %q: %w", s.Stack, err)
		}
	}
	return Backend{Address: fileScheme + "://" + path + "?metadata=skip"}, nil
}

// Package backend locates the state of a stack, and reads the states in file backends.
package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	fileScheme = "file"

	// Default is the backend of a stack that has an access token and no backend address.
	Default = "https://api.pulumi.com"
)

// remoteSchemes lists the URL schemes of backends outside this machine. The engine
// refuses a scheme that is not listed, because pulumi accepts several spellings of
// file.
var remoteSchemes = []string{"https", "http", "gs", "s3", "azblob", "postgres"}

// Backend locates a stack's state.
type Backend struct {
	// Address is the URL that pulumi gets. Address is empty for pulumi's default backend.
	Address string

	// Folder is the path of a file backend below [Choice.Folder]. Folder is empty for other
	// backends.
	Folder string
}

// Choice is the backend that somebody chose for a stack.
type Choice struct {
	// Stack is the stack's name, for messages.
	Stack string

	// Address is the backend's address. If Address is empty, PULUMI_BACKEND_URL in Env counts,
	// and then PULUMI_ACCESS_TOKEN.
	Address string
	Env     map[string]string

	// Folder is the folder in which a file backend must lie. If Folder is empty, Locate
	// rejects every file backend.
	Folder string
}

// Locate determines and checks the backend. Locate changes nothing.
func (c Choice) Locate() (Backend, error) {
	address := c.Address
	if address == "" {
		address = c.Env["PULUMI_BACKEND_URL"]
	}
	if address == "" {
		if c.Env["PULUMI_ACCESS_TOKEN"] == "" {
			return Backend{}, fmt.Errorf("no backend for stack %q: set backend, or PULUMI_BACKEND_URL or PULUMI_ACCESS_TOKEN in the environment", c.Stack)
		}
		return Backend{}, nil
	}
	scheme, path, ok := strings.Cut(address, "://")
	if ok && slices.Contains(remoteSchemes, scheme) {
		return Backend{Address: address}, nil
	}
	if !ok || scheme != fileScheme {
		// The error shows no part of the address, which may hold a password.
		return Backend{}, fmt.Errorf("backend of stack %q: its address must begin with one of %s", c.Stack, prefixes(fileScheme))
	}
	if !filepath.IsAbs(path) || strings.ContainsAny(path, "?#%") {
		return Backend{}, fmt.Errorf("backend %q: use an absolute path without a query; a relative path would lie in the run's folder, which the operator removes", address)
	}
	if c.Folder == "" {
		return Backend{}, fmt.Errorf("backend %q: no file backend is allowed here: use one of %s", address, prefixes())
	}
	folder, err := filepath.Rel(c.Folder, filepath.Clean(path))
	if err == nil && filepath.IsLocal(folder) {
		err = staysBelow(c.Folder, folder)
	} else {
		err = errors.New("it lies outside that folder")
	}
	if err != nil {
		return Backend{}, fmt.Errorf("backend %q: use file://%s or a folder below it: %w", address, c.Folder, err)
	}
	// By default, pulumi writes an attributes file beside each file, and writes it in place. A kill during that write would
	// leave the attributes file empty and the state unreadable.
	return Backend{Address: fileScheme + "://" + filepath.Join(c.Folder, folder) + "?metadata=skip", Folder: folder}, nil
}

func prefixes(more ...string) string {
	return strings.Join(append(more, remoteSchemes...), "://, ") + "://"
}

// staysBelow returns an error if the symbolic links in a folder's path lead out of
// root. A folder that does not exist leads nowhere, so it returns nil.
func staysBelow(root, folder string) error {
	r, err := os.OpenRoot(root)
	if err == nil {
		defer r.Close()
		_, err = r.Stat(folder)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Create creates the folder of a file backend below [Choice.Folder]. Create changes nothing for other backends.
func (b Backend) Create(parent string) error {
	if b.Folder == "" {
		return nil
	}
	if err := makeBelow(parent, b.Folder); err != nil {
		return fmt.Errorf("make folder of backend %q: %w", b.Address, err)
	}
	return nil
}

// makeBelow creates a folder below root. makeBelow does not follow a symbolic link out
// of root, because a run may have put one there.
func makeBelow(root, folder string) error {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.MkdirAll(folder, 0o700)
}

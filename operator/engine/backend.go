package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	fileScheme = "file"

	// defaultBackend is the backend of a request that has an access token and no backend
	// address.
	defaultBackend = "https://api.pulumi.com"

	// halfWritten is the age from which a temporary lock file counts as abandoned by its
	// writer.
	halfWritten = 5 * time.Second
)

// remoteSchemes lists the URL schemes of backends outside this machine. The engine
// refuses a scheme that is not listed, because pulumi accepts several spellings of
// file.
var remoteSchemes = []string{"https", "http", "gs", "s3", "azblob", "postgres"}

// CheckBackend returns an error if the request may not use its backend. CheckBackend
// changes nothing.
func (r Request) CheckBackend() error {
	_, err := r.backend()
	return err
}

// backend locates a stack's state.
type backend struct {
	// address is the URL that pulumi gets. address is empty for pulumi's default backend.
	address string

	// folder is the path of a file backend below the request's BackendFolder. folder is
	// empty for other backends.
	folder string
}

// backend determines and checks the request's backend.
func (r Request) backend() (backend, error) {
	address := r.Backend
	if address == "" {
		address = r.Env["PULUMI_BACKEND_URL"]
	}
	if address == "" {
		if r.Env["PULUMI_ACCESS_TOKEN"] == "" {
			return backend{}, fmt.Errorf("no backend for stack %q: set backend, or PULUMI_BACKEND_URL or PULUMI_ACCESS_TOKEN in the environment", r.Stack)
		}
		return backend{}, nil
	}
	scheme, path, ok := strings.Cut(address, "://")
	if ok && slices.Contains(remoteSchemes, scheme) {
		return backend{address: address}, nil
	}
	if !ok || scheme != fileScheme {
		// The error shows no part of the address, which may hold a password.
		return backend{}, fmt.Errorf("backend of stack %q: its address begins with none of %s: use one of them", r.Stack, prefixes(fileScheme))
	}
	if !filepath.IsAbs(path) || strings.ContainsAny(path, "?#%") {
		return backend{}, fmt.Errorf("backend %q: give an absolute path and nothing else; a relative one would lie in the run's folder, which is removed", address)
	}
	if r.BackendFolder == "" {
		return backend{}, fmt.Errorf("backend %q: no file backend is allowed here: use one of %s", address, prefixes())
	}
	folder, err := filepath.Rel(r.BackendFolder, filepath.Clean(path))
	if err == nil && filepath.IsLocal(folder) {
		err = staysBelow(r.BackendFolder, folder)
	} else {
		err = errors.New("it lies elsewhere")
	}
	if err != nil {
		return backend{}, fmt.Errorf("backend %q: use file://%s or a folder below it: %w", address, r.BackendFolder, err)
	}
	// By default, pulumi writes an attributes file beside each file, and writes it in place. A kill during that write would
	// leave the attributes file empty and the state unreadable.
	return backend{address: fileScheme + "://" + filepath.Join(r.BackendFolder, folder) + "?metadata=skip", folder: folder}, nil
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

// prepareBackend determines the backend. For Up and Preview it also creates the folder
// of a file backend.
func prepareBackend(req Request) (backend, error) {
	b, err := req.backend()
	if err != nil || b.folder == "" || req.Operation != Up && req.Operation != Preview {
		return b, err
	}
	if err := makeBelow(req.BackendFolder, b.folder); err != nil {
		return b, fmt.Errorf("make folder of backend %q: %w", b.address, err)
	}
	return b, nil
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

// stackBase returns the stack's name without its organization.
func (r *run) stackBase() string { return r.Stack[strings.LastIndexByte(r.Stack, '/')+1:] }

// missing reports whether the stack's state file is absent from its file backend.
// missing returns false for other backends and if it cannot read the folder.
func (r *run) missing() bool {
	_, err := r.stateInfo()
	return errors.Is(err, fs.ErrNotExist)
}

// stateInfo returns the [fs.FileInfo] of the stack's state file. For backends other
// than file backends, it returns [errors.ErrUnsupported].
func (r *run) stateInfo() (info fs.FileInfo, err error) {
	if !r.local {
		return nil, errors.ErrUnsupported
	}
	root, err := os.OpenRoot(r.BackendFolder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, suffix := range []string{".json", ".json.gz"} {
		info, err = root.Stat(filepath.Join(r.stateFolder, ".pulumi", "stacks", r.Project, r.stackBase()+suffix))
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return info, err
}

// shrinkState is the advice for a state that is too large.
const shrinkState = "remove what it need not hold by pulumi state delete, or split the stack"

// boundState refuses a state larger than maxState. To load such a state, pulumi would
// need more memory than a machine has for one run.
func (r *run) boundState() error {
	if info, err := r.stateInfo(); err == nil && info.Size() > maxState {
		return r.failure(TooLarge, "the stack's state has %d bytes, and %d are the most: %s", info.Size(), maxState, shrinkState)
	}
	return nil
}

// mostLocks bounds how many entries of a stack's lock folder dropHalfWritten lists.
const mostLocks = 1000

// dropHalfWritten removes the temporary file of a lock that a killed pulumi was
// writing. Pulumi renames the file when it is complete; it would take a temporary file
// for a lock that it cannot read. No process still writes the files that
// dropHalfWritten removes: the caller's previous run of the stack is over, and other
// processes finish such a file within halfWritten.
func (r *run) dropHalfWritten() error {
	if !r.local {
		return nil
	}
	root, err := os.OpenRoot(r.BackendFolder)
	if err != nil {
		return fmt.Errorf("look for locks of stack %q: %w", r.Stack, err)
	}
	defer root.Close()
	dir := filepath.Join(r.stateFolder, ".pulumi", "locks", "organization", r.Project, r.stackBase())
	left, err := untrusted.List(root, dir, mostLocks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for locks of stack %q: %w", r.Stack, err)
	}
	for _, entry := range left {
		info, err := root.Lstat(filepath.Join(dir, entry.Name()))
		if err != nil || filepath.Ext(entry.Name()) != ".tmp" || time.Since(info.ModTime()) < halfWritten {
			continue
		}
		if err := root.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove a half-written lock of stack %q: %w", r.Stack, err)
		}
	}
	return nil
}

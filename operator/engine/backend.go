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

	// defaultBackend is the one that an access token is for where nothing else is
	// said.
	defaultBackend = "https://api.pulumi.com"

	// halfWritten is the age from which on nobody is still writing a lock.
	halfWritten = 5 * time.Second
)

// remoteSchemes are those of the backends that are no files of this machine. A
// scheme that is not listed is refused: pulumi knows several spellings of file.
var remoteSchemes = []string{"https", "http", "gs", "s3", "azblob", "postgres"}

// CheckBackend tells why the backend that the request asks for may not be used.
// It changes nothing.
func (r Request) CheckBackend() error {
	_, err := r.backend()
	return err
}

// backend is where a stack's state lies.
type backend struct {
	// address is what pulumi is told; empty for its default backend.
	address string

	// folder is, for a file backend, the path below the request's BackendFolder.
	folder string
}

// backend finds the request's backend and checks it.
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
		// The rest of the address may hold a password.
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
	// Beside each file pulumi would write one of attributes, in place: a kill meanwhile would leave it empty, and the state
	// unreadable.
	return backend{address: fileScheme + "://" + filepath.Join(r.BackendFolder, folder) + "?metadata=skip", folder: folder}, nil
}

func prefixes(more ...string) string {
	return strings.Join(append(more, remoteSchemes...), "://, ") + "://"
}

// staysBelow follows the symbolic links of a folder below root. What is not there
// leads nowhere.
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

// prepareBackend finds the backend and makes sure that the folder of a file
// backend exists.
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

// makeBelow makes a folder without leaving root, whatever links a run put there.
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

// missing tells whether the stack's state is not in its file backend. Of other
// backends, and of what cannot be read, it says no.
func (r *run) missing() bool {
	_, err := r.stateInfo()
	return errors.Is(err, fs.ErrNotExist)
}

// stateInfo describes the file with the stack's state in its file backend.
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

// boundState refuses a state that pulumi would need more memory for than a machine
// has for one run.
func (r *run) boundState() error {
	if info, err := r.stateInfo(); err == nil && info.Size() > maxState {
		return r.failure(TooLarge, "the stack's state has %d bytes, and %d are the most: %s", info.Size(), maxState, shrinkState)
	}
	return nil
}

// mostLocks bounds how many entries of a stack's folder of locks are looked at.
const mostLocks = 1000

// dropHalfWritten removes what pulumi wrote of a lock when it was killed: a file
// that has not yet got its name, which pulumi would take for a lock that it cannot
// read. Nobody can be writing it: the caller's previous run of the stack is over,
// and others write such a file within a moment.
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

// Package home lays out the folder that holds all state of one local platform.
package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// These are the names in the emulated Google Cloud of a new home.
const (
	Project = "strata-local"
	Region  = "europe-west1"
	Zone    = "europe-west1-b"
)

// version is the version of the layout. Open rejects a home of another version, because it would misread that home.
const version = 1

// Home is the folder of one local platform. Its methods return the paths in it.
type Home struct {
	dir string
}

// Dir returns the home's absolute path.
func (h Home) Dir() string { return h.dir }

func (h Home) path(elem ...string) string { return filepath.Join(append([]string{h.dir}, elem...)...) }

// At returns the home in dir without accessing the home's files. Open creates the home. At resolves symbolic links in
// dir, because state and credentials contain the home's path, so a home must have only one.
func At(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = resolve(abs)
	}
	if err != nil {
		return Home{}, fmt.Errorf("find the home %s: %w", dir, err)
	}
	return Home{dir: abs}, nil
}

// In returns the folder of the home of a repository: $STRATA_HOME, or .strata in the repository.
func In(repository string) string {
	if dir := os.Getenv(Variable); dir != "" {
		return dir
	}
	return filepath.Join(repository, ".strata")
}

// resolve resolves the symbolic links in a path. The end of the path need not exist.
func resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	parent, err := resolve(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}

// Exists reports whether the home exists.
func (h Home) Exists() bool {
	_, err := os.Stat(h.path("home.json"))
	return err == nil
}

// Open creates or opens the home in dir. Only its user may access a home; see claim.
func Open(dir string) (Home, error) {
	h, err := At(dir)
	if err != nil {
		return h, err
	}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return h, fmt.Errorf("create the home: %w", err)
	}
	f, err := h.read()
	if errors.Is(err, fs.ErrNotExist) {
		// Another process may be creating the home, or was killed while it did.
		left, err := os.ReadDir(h.dir)
		if err != nil {
			return h, fmt.Errorf("create the home: %w", err)
		}
		foreign := slices.ContainsFunc(left, func(entry fs.DirEntry) bool { return !isTemporary(entry.Name(), "home.json") })
		if foreign && !h.Exists() {
			return h, fmt.Errorf("create the home: %s is neither empty nor a home: name an empty folder in STRATA_HOME", h.dir)
		}
		if err := h.claim(); err != nil {
			return h, err
		}
		raw, err := file{Version: version, Ports: map[string]int{}, Private: true}.marshal()
		if err != nil {
			return h, err
		}
		return h, createFile(h.path("home.json"), raw)
	}
	if err != nil {
		return h, err
	}
	if f.Version != version {
		return h, fmt.Errorf("home %s has version %d of the layout, this strata reads version %d: use the strata that created it, or name another home in STRATA_HOME", h.dir, f.Version, version)
	}
	return h, h.claim()
}

// entries are all entries in the folder of a home.
var entries = []string{
	changeLock, "credentials", "environment", "git", "google", "images", "kubernetes", "kubernetes.erased", "layers", "layers.lock", "ledger", "logs", "pods", rotationLock, "runs", "state",
	downMark, upgradeMark, rehearsalMark, "operator", "source", "supervisor.lock", "supervisor.sock", "tools", "volumes", "home.json",
}

// isEntry reports whether a name in the folder of a home is one of the entries, or the temporary file of one.
func isEntry(name string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool { return name == entry || isTemporary(name, entry) })
}

// Remove removes the entries of the home, home.json last, and then the folder, unless the folder contains other files.
// If the home does not exist, Remove does nothing.
func (h Home) Remove() error {
	if !h.Exists() {
		return nil
	}
	left, err := os.ReadDir(h.dir)
	if err != nil {
		return fmt.Errorf("remove the home: %w", err)
	}
	var names []string
	for _, entry := range left {
		if name := entry.Name(); isEntry(name) && name != changeLock && name != "home.json" {
			names = append(names, name)
		}
	}
	for _, name := range append(names, changeLock, "home.json") {
		if err := os.RemoveAll(h.path(name)); err != nil {
			return fmt.Errorf("remove the home: %w", err)
		}
	}
	if err := os.Remove(h.dir); err != nil {
		return fmt.Errorf("remove the home: it contains files that are not Strata's: %w", err)
	}
	return nil
}

// downMark is the name of the file that exists during a `down`, and after an interrupted one.
const downMark = "down-begun"

// RestoreStep is the step that BeginDown records in a home from a backup. As after an interrupted down, the states may describe
// resources that no longer exist, and the next up looks for them.
const RestoreStep = "restore"

// BeginDown records that a step of `down` begins.
func (h Home) BeginDown(step string) error { return WriteFile(h.path(downMark), []byte(step)) }

// DownBegun reports whether a `down` has begun and neither it nor a later `up` has finished. step is the last step
// that began.
func (h Home) DownBegun() (step string, begun bool) {
	raw, err := os.ReadFile(h.path(downMark))
	return string(raw), err == nil
}

// EndDown removes the record of BeginDown.
func (h Home) EndDown() error {
	if err := os.Remove(h.path(downMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// KeepEnvironment records the environment of the home. It returns an error if the home has the record of another
// environment. An empty name has no effect.
func (h Home) KeepEnvironment(name string) error {
	if name == "" {
		return nil
	}
	kept, err := os.ReadFile(h.path("environment"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return WriteFile(h.path("environment"), []byte(name))
	case err != nil:
		return fmt.Errorf("read the home's environment: %w", err)
	case string(kept) != name:
		return fmt.Errorf("home %s is for the environment %s, not %s: use --env %s, or name another home in STRATA_HOME", h.dir, kept, name, kept)
	}
	return nil
}

// Environment returns the environment of the home, or "" if the home has no record of it.
func (h Home) Environment() string {
	kept, _ := os.ReadFile(h.path("environment"))
	return string(kept)
}

// file is the content of home.json.
type file struct {
	Version int            `json:"version"`
	Ports   map[string]int `json:"ports"`
	// Private says that only the owner has access to the files of the home.
	Private bool `json:"private,omitempty"`
}

// read reads home.json. The error wraps fs.ErrNotExist if the home does not exist.
func (h Home) read() (file, error) {
	var f file
	raw, err := os.ReadFile(h.path("home.json"))
	if err != nil {
		return f, fmt.Errorf("read the home: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("read the home: %s is damaged (%w): restore it from a backup, or remove the folder %s and start over", h.path("home.json"), err, h.dir)
	}
	if f.Ports == nil {
		f.Ports = map[string]int{}
	}
	return f, nil
}

// marshal returns the content of home.json.
func (f file) marshal() ([]byte, error) {
	raw, err := json.MarshalIndent(f, "", "  ")
	return append(raw, '\n'), err
}

// write replaces home.json.
func (h Home) write(f file) error {
	raw, err := f.marshal()
	if err != nil {
		return err
	}
	return WriteFile(h.path("home.json"), raw)
}

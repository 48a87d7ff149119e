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

// Names of the emulated Google Cloud that a home starts with.
const (
	Project = "strata-local"
	Region  = "europe-west1"
	Zone    = "europe-west1-b"
)

// version is the version of the layout. A home of another version is refused rather than misread.
const version = 1

// Home is the folder of one local platform. Its methods name the places in it.
type Home struct {
	dir string
}

// Dir is the home's absolute path.
func (h Home) Dir() string { return h.dir }

func (h Home) path(elem ...string) string { return filepath.Join(append([]string{h.dir}, elem...)...) }

// Socket is the supervisor's control socket.
func (h Home) Socket() string { return h.path("supervisor.sock") }

// Lock is held by the running supervisor.
func (h Home) Lock() string { return h.path("supervisor.lock") }

// Log is the log file of a component.
func (h Home) Log(component string) string { return h.path("logs", component+".log") }

// Logs is the folder of all log files.
func (h Home) Logs() string { return h.path("logs") }

// Kubernetes is the folder of the control plane's keys and data.
func (h Home) Kubernetes() string { return h.path("kubernetes") }

// ErasedKubernetes is the folder Kubernetes while it is being removed.
func (h Home) ErasedKubernetes() string { return h.path("kubernetes.erased") }

// Pods is the folder of the pods' volumes and credentials.
func (h Home) Pods() string { return h.path("pods") }

// Google is the folder of the emulated Google Cloud.
func (h Home) Google() string { return h.path("google") }

// Git is the folder of the git server's repositories.
func (h Home) Git() string { return h.path("git") }

// ToolsRoot is the folder above Tools, the form in which the Automation API wants to be told of a Pulumi installation.
func (h Home) ToolsRoot() string { return h.path("tools") }

// Tools is the folder of links to the programs that Pulumi runs need, made to stand first on PATH.
func (h Home) Tools() string { return h.path("tools", "bin") }

// Certificates is the folder of certificate authorities that Pulumi runs trust besides those of the system. It lies where
// runs of teams can read.
func (h Home) Certificates() string { return h.path("tools", "bin", "certificates") }

// Spares is the folder of links to programs that the machine may have its own of, made to stand last on PATH.
func (h Home) Spares() string { return h.path("tools", "spares") }

// EngineerCredentials is the platform engineer's own Google credential, of type authorized_user.
func (h Home) EngineerCredentials() string { return h.path("credentials", "engineer.json") }

// AdminKubeconfig is the kubeconfig of the cluster's administrator.
func (h Home) AdminKubeconfig() string { return h.path("kubernetes", "admin.kubeconfig") }

// Layers is the folder of the folders that Layer names.
func (h Home) Layers() string { return h.path("layers") }

// Layer is the folder in which a Pulumi layer runs: its project and stack settings.
func (h Home) Layer(name string) string { return h.path("layers", name) }

// GitCredentials is the file of the Git accounts, in the format of git-credential-store.
func (h Home) GitCredentials() string { return h.path("credentials", "git-logins") }

// LayerState is the folder of the Pulumi backend that layers 1 and 2 share.
func (h Home) LayerState() string { return h.path("state", "platform") }

// TenantState is the folder of the Pulumi backend of one team, named by the team's namespace: the operator lets a Stack
// use the folder of its own namespace only.
func (h Home) TenantState(namespace string) string { return filepath.Join(h.TenantStates(), namespace) }

// TenantStates is the folder of the folders that TenantState names.
func (h Home) TenantStates() string { return h.path("state", "teams") }

// LostStates holds what was kept aside of it since nobody has its passphrase, in folders called after its namespace.
func (h Home) LostStates() string { return h.path("state", "lost") }

// At returns the home in dir without touching the disk. Use Open to make it. Over whatever links dir leads there, a
// home has one path: state and credentials hold it.
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

// resolve follows the links in a path of which the end need not exist.
func resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	parent, err := resolve(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}

// Exists says whether the home has been made.
func (h Home) Exists() bool {
	_, err := os.Stat(h.path("home.json"))
	return err == nil
}

// Open makes the home in dir, or opens the one that is there. It is for its user alone: claim says what that means.
func Open(dir string) (Home, error) {
	h, err := At(dir)
	if err != nil {
		return h, err
	}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return h, fmt.Errorf("make the home: %w", err)
	}
	f, err := h.read()
	if errors.Is(err, fs.ErrNotExist) {
		// Another process may be making the home, or has died of it.
		left, err := os.ReadDir(h.dir)
		if err != nil {
			return h, fmt.Errorf("make the home: %w", err)
		}
		foreign := slices.ContainsFunc(left, func(entry fs.DirEntry) bool { return !isTemporary(entry.Name(), "home.json") })
		if foreign && !h.Exists() {
			return h, fmt.Errorf("make the home: %s is not empty and no home: name an empty folder in STRATA_HOME", h.dir)
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
		return h, fmt.Errorf("home %s has version %d of the layout, this strata reads version %d: use the strata that made it, or name another home in STRATA_HOME", h.dir, f.Version, version)
	}
	return h, h.claim()
}

// entries are all that a home consists of.
var entries = []string{
	changeLock, "credentials", "environment", "git", "google", "kubernetes", "kubernetes.erased", "layers", "layers.lock", "logs", "pods", "state",
	downMark, "supervisor.lock", "supervisor.sock", "tools", "home.json",
}

// isEntry says whether a name in the folder of a home is one of the entries, or what is left of writing one.
func isEntry(name string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool { return name == entry || isTemporary(name, entry) })
}

// Remove removes the home: all that belongs to one, home.json as the last, and then the folder, unless something else
// lies in it. Where there is no home nothing is touched.
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
		return fmt.Errorf("remove the home: what is left in it is not Strata's: %w", err)
	}
	return nil
}

// downMark stands while a platform is being taken down, and after that was interrupted.
const downMark = "down-begun"

// BeginDown notes that the platform is being taken down, and which step of it begins.
func (h Home) BeginDown(step string) error { return WriteFile(h.path(downMark), []byte(step)) }

// DownBegun tells whether the platform was being taken down and is neither down nor up again, and which step had begun
// last.
func (h Home) DownBegun() (step string, begun bool) {
	raw, err := os.ReadFile(h.path(downMark))
	return string(raw), err == nil
}

// EndDown takes the note back.
func (h Home) EndDown() error {
	if err := os.Remove(h.path(downMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// KeepEnvironment records the environment that the home is for, and refuses another. An empty name says nothing.
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
		return fmt.Errorf("home %s is for the environment %s, not %s: say --env %s, or name another home in STRATA_HOME", h.dir, kept, name, kept)
	}
	return nil
}

// Environment is the environment that the home is for, or "" where none was recorded.
func (h Home) Environment() string {
	kept, _ := os.ReadFile(h.path("environment"))
	return string(kept)
}

// file is home.json.
type file struct {
	Version int            `json:"version"`
	Ports   map[string]int `json:"ports"`
	// Private says that no file of the home is for anyone but its owner.
	Private bool `json:"private,omitempty"`
}

func (h Home) read() (file, error) {
	var f file
	raw, err := os.ReadFile(h.path("home.json"))
	if err != nil {
		return f, fmt.Errorf("read the home: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("read the home: %s is damaged (%w): put a copy of it back, or remove the folder %s and begin anew", h.path("home.json"), err, h.dir)
	}
	if f.Ports == nil {
		f.Ports = map[string]int{}
	}
	return f, nil
}

func (f file) marshal() ([]byte, error) {
	raw, err := json.MarshalIndent(f, "", "  ")
	return append(raw, '\n'), err
}

func (h Home) write(f file) error {
	raw, err := f.marshal()
	if err != nil {
		return err
	}
	return WriteFile(h.path("home.json"), raw)
}

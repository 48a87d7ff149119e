// Package home lays out the folder that holds all state of one local platform.
package home

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
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

// Layer is the folder in which a Pulumi layer runs: its project and stack settings.
func (h Home) Layer(name string) string { return h.path("layers", name) }

// GitCredentials is the file of the Git accounts, in the format of git-credential-store.
func (h Home) GitCredentials() string { return h.path("credentials", "git-logins") }

// LayerState is the folder of the Pulumi backend that layers 1 and 2 share.
func (h Home) LayerState() string { return h.path("state", "platform") }

// TenantState is the folder of the Pulumi backend of one team, named by the team's namespace: the operator lets a Stack
// use the folder of its own namespace only.
func (h Home) TenantState(namespace string) string { return h.path("state", "teams", namespace) }

// At returns the home in dir without touching the disk. Use Open to make it.
func At(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("find the home %s: %w", dir, err)
	}
	return Home{dir: abs}, nil
}

// Exists says whether the home has been made.
func (h Home) Exists() bool {
	_, err := os.Stat(h.path("home.json"))
	return err == nil
}

// Open makes the home in dir, or opens the one that is there.
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
		if left, err := os.ReadDir(h.dir); err != nil || len(left) > 0 {
			return h, errors.Join(err, fmt.Errorf("make the home: %s is not empty and no home: name an empty folder in STRATA_HOME", h.dir))
		}
		return h, h.write(file{Version: version, Ports: map[string]int{}})
	}
	if err != nil {
		return h, err
	}
	if f.Version != version {
		return h, fmt.Errorf("home %s has version %d of the layout, this strata reads version %d: use the strata that made it, or name another home in STRATA_HOME", h.dir, f.Version, version)
	}
	return h, nil
}

// entries are all that a home consists of.
var entries = []string{
	"credentials", "environment", "git", "google", "kubernetes", "layers", "layers.lock", "logs", "pods", "state",
	"supervisor.lock", "supervisor.sock", "tools", "home.json",
}

// Remove removes the home: all that belongs to one, and then the folder, unless something else lies in it. Where there
// is no home nothing is touched.
func (h Home) Remove() error {
	if !h.Exists() {
		return nil
	}
	for _, entry := range entries {
		if err := os.RemoveAll(h.path(entry)); err != nil {
			return fmt.Errorf("remove the home: %w", err)
		}
	}
	if err := os.Remove(h.dir); err != nil {
		return fmt.Errorf("remove the home: what is left in it is not Strata's: %w", err)
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
}

func (h Home) read() (file, error) {
	var f file
	raw, err := os.ReadFile(h.path("home.json"))
	if err != nil {
		return f, fmt.Errorf("read the home: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("read the home: %s: %w", h.path("home.json"), err)
	}
	if f.Ports == nil {
		f.Ports = map[string]int{}
	}
	return f, nil
}

func (h Home) write(f file) error {
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(h.path("home.json"), append(raw, '\n'))
}

// WriteFile writes a file of mode 0600 in one step: a reader, or a start after a power loss, finds the old content or
// the new one.
func WriteFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(content); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Sync(); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// ports is held while the kept ports are read and written: the parts of a supervisor ask for theirs when they need them.
var ports sync.Mutex

// Port returns the port kept for a name, and chooses a free one at the first call. Kept ports keep kubeconfigs,
// contexts and Git URLs stable over restarts. Only the supervisor calls it, so one writing process is all there is.
func (h Home) Port(name string) (int, error) {
	ports.Lock()
	defer ports.Unlock()
	f, err := h.read()
	if err != nil {
		return 0, err
	}
	if port, ok := f.Ports[name]; ok {
		return port, nil
	}
	taken := map[int]bool{}
	for _, p := range f.Ports {
		taken[p] = true
	}
	port, err := freePort(taken)
	if err != nil {
		return 0, fmt.Errorf("choose a port for %s: %w", name, err)
	}
	f.Ports[name] = port
	return port, h.write(f)
}

// Listen listens on the loopback port kept for a name. A kept port that another program took meanwhile is an error.
func (h Home) Listen(name string) (net.Listener, error) {
	port, err := h.Port(name)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("%s: port %d of this home is in use%s: end that program, or run `strata down --purge` and begin a new home: %w", name, port, holder(port), err)
	}
	return l, nil
}

// freePort asks the kernel for ports until it names one that is not yet kept for another name.
func freePort(taken map[int]bool) (int, error) {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if !taken[port] {
			return port, nil
		}
	}
}

// Secret returns the random secret kept in a file of the home, and makes it at the first call. Of several processes that
// call it first, one makes it for all.
func (h Home) Secret(name string) (string, error) {
	path := h.path("credentials", name)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = h.makeSecret(path); err == nil {
			raw, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("the home's secret %s: %w", name, err)
	}
	return string(raw), nil
}

// makeSecret makes a secret, unless another process was quicker: a link, unlike a rename, replaces nothing.
func (h Home) makeSecret(path string) error {
	fresh := path + "." + rand.Text()
	if err := WriteFile(fresh, []byte(rand.Text())); err != nil {
		return err
	}
	defer os.Remove(fresh)
	if err := os.Link(fresh, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

package doctor

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/operator/sandbox"
)

// Facts describes a machine. Sizes are in bytes, and 0 if the system does not report them.
type Facts struct {
	// System is the operating system in the form of runtime.GOOS.
	System string
	// Root says that the user is root.
	Root bool

	// Go is the version of the go command, such as "go1.26.0". NeedsGo is the minimum version. GoError is the error of
	// finding the go command.
	Go, NeedsGo string
	GoError     error
	// Git is the version of git, such as "2.39.5". HTTPBackend says whether git-http-backend is installed. GitError is
	// the error of finding git.
	Git         string
	HTTPBackend bool
	GitError    error
	Kubectl     bool

	Cores              int
	Memory, FreeMemory int64
	Cache, Home        string // folders of the tools and of the platform
	CacheFree          int64
	HomeFree           int64
	// HomeDenied and CacheDenied say why this user cannot write to the folders; nil if it can.
	HomeDenied, CacheDenied error
	// Sharing are the other homes that run with the same teams.yaml.
	Sharing []string
	// OpenFiles is the maximum number of open files of a process.
	OpenFiles uint64
	// Loopback is the error of listening on a loopback address other than 127.0.0.1.
	Loopback error
	// Isolation is the reason why this system cannot give teams' Programs namespaces of their own, or "".
	Isolation string
	// Pods is the error of a trial sandbox for pods.
	Pods error
	// Landlock is the kernel's version of Landlock, which confines runs on systems without namespaces, or 0.
	Landlock int

	Tools      []toolchain.Status
	ToolsError error
	// Leftover is the size of the cached tools that this version of Strata does not use.
	Leftover int64

	// TakenPorts describes the home's reserved ports that other programs use, with the programs.
	TakenPorts []string
	// Supervisor is the status of the home's supervisor, or nil if none runs. SupervisorError is the error of asking
	// it.
	Supervisor      *supervisor.Status
	SupervisorError error
}

// patience is how long doctor waits for a program or the supervisor to answer.
const patience = 2 * time.Second

// Look collects the facts. It changes nothing.
func Look(ctx context.Context, tools *toolchain.Toolchain, h home.Home) Facts {
	f := look(ctx, tools, h, true)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f.Sharing = sharing("/proc", h.Dir())
	f.Tools, f.ToolsError = tools.List(ctx)
	if f.ToolsError == nil && !oldGo(f) && (f.GoError == nil || len(missing(f)) == 0) {
		f.Leftover, f.ToolsError = leftover(ctx, tools)
	}
	return f
}

// LookFast collects the facts that take only a moment. It omits Leftover, and Tools if the go command can build them. While a supervisor runs, it also omits
// Pods: the supervisor has tried a sandbox at its start, and each trial starts strata once more.
func LookFast(ctx context.Context, tools *toolchain.Toolchain, h home.Home) Facts {
	return look(ctx, tools, h, false)
}

// look is LookFast. With always, it includes Pods in every case.
func look(ctx context.Context, tools *toolchain.Toolchain, h home.Home, always bool) (f Facts) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f = Facts{
		System: runtime.GOOS, Root: os.Geteuid() == 0, Cores: runtime.NumCPU(),
		Cache: tools.Cache(), CacheFree: freeSpace(tools.Cache()),
		Home: h.Dir(), HomeFree: freeSpace(h.Dir()),
		HomeDenied: denied(h.Dir()), CacheDenied: denied(tools.Cache()),
		Loopback: listenBeside(),
	}
	f.Supervisor, f.SupervisorError = ask(ctx, h)
	var probing sync.WaitGroup
	defer probing.Wait()
	if always || f.Supervisor == nil {
		probing.Go(func() { f.Pods = sandboxes.Probe(ctx) })
	}
	f.Memory, f.FreeMemory = memory()
	f.OpenFiles = openFiles()
	if err := sandbox.Supported(); err != nil {
		f.Isolation = err.Error()
	}
	f.Landlock = landlockVersion()
	f.Go, f.NeedsGo, f.GoError = tools.Go(ctx)
	if f.GoError != nil || version.Compare(f.Go, f.NeedsGo) < 0 {
		f.Tools, f.ToolsError = tools.List(ctx)
	}
	f.Git, f.HTTPBackend, f.GitError = git(ctx)
	_, err := exec.LookPath("kubectl")
	f.Kubectl = err == nil
	if f.Supervisor == nil && f.SupervisorError == nil {
		f.TakenPorts = takenPorts(h)
	}
	return f
}

// leftover returns the size of the cached tools that this version of Strata does not use.
func leftover(ctx context.Context, tools *toolchain.Toolchain) (bytes int64, err error) {
	list, err := tools.Leftovers(ctx)
	for _, l := range list {
		bytes += l.Bytes
	}
	return bytes, err
}

// gitVersion matches the version in the output of git --version. Vendors append words.
var gitVersion = regexp.MustCompile(`\d+\.\d+(?:\.\d+)?`)

// git runs git for its version and looks for git-http-backend.
func git(ctx context.Context) (found string, backend bool, err error) {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return "", false, err
	}
	if found = gitVersion.FindString(string(out)); found == "" {
		return "", false, fmt.Errorf("git --version says %q", strings.TrimSpace(string(out)))
	}
	dir, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return "", false, err
	}
	_, err = os.Stat(filepath.Join(strings.TrimSpace(string(dir)), "git-http-backend"))
	return found, err == nil, nil
}

// ask returns the status of the home's supervisor, or nil if none runs. Without a control socket it does not connect,
// because a client would create the secret that it presents.
func ask(ctx context.Context, h home.Home) (*supervisor.Status, error) {
	if _, err := os.Stat(h.Socket()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	status, err := supervisor.Connect(h).Status(ctx)
	if errors.Is(err, supervisor.ErrNotRunning) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &status, nil
}

// takenPorts describes the reserved ports of a stopped home that other programs use, with the programs.
func takenPorts(h home.Home) []string {
	if !h.Exists() {
		return nil
	}
	ports, err := h.Ports()
	if err != nil {
		return []string{err.Error()}
	}
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		l, err := h.Listen(name)
		if err != nil {
			taken = append(taken, err.Error())
			continue
		}
		_ = l.Close()
	}
	return taken
}

// listenBeside returns an error if no server can listen on a loopback address other than 127.0.0.1. Databases get such
// addresses.
func listenBeside() error {
	l, err := net.Listen("tcp", "127.1.2.3:0")
	if err != nil {
		return err
	}
	return l.Close()
}

// existing returns the nearest existing folder at or above path.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

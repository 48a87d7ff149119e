package doctor

import (
	"context"
	"errors"
	"fmt"
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
	"time"

	"github.com/strata-platform/strata/internal/local/home"
	"github.com/strata-platform/strata/internal/local/supervisor"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/operator/engine/sandbox"
)

// Facts are what a machine has. Sizes are in bytes, and 0 where the system does not tell.
type Facts struct {
	// System is the operating system, as Go calls it.
	System string
	// Root says that this user is root.
	Root bool

	// Go is the version of the go command, as in "go1.26.0", NeedsGo the least that is needed, and GoError why there is none.
	Go, NeedsGo string
	GoError     error
	// Git is git's version, as in "2.39.5". HTTPBackend is whether it came with its server, and GitError why there is none.
	Git         string
	HTTPBackend bool
	GitError    error
	Kubectl     bool

	Cores              int
	Memory, FreeMemory int64
	Cache, Home        string // folders: of the tools, and of the platform
	CacheFree          int64
	HomeFree           int64
	// OpenFiles is how many files a process may open at most.
	OpenFiles uint64
	// Loopback is why no server can listen on a loopback address besides 127.0.0.1.
	Loopback error
	// Isolation is what keeps this system from giving teams' Programs namespaces of their own; empty where nothing does.
	Isolation string
	// Landlock is the version of the kernel's interface that confines runs where namespaces do not, 0 where it has none.
	Landlock int

	Tools      []toolchain.Status
	ToolsError error
	// Leftover is the size of cached tools that this clone does not use.
	Leftover int64

	// TakenPorts says of each port that is kept for the home and taken by somebody else by whom.
	TakenPorts []string
	// Supervisor is what runs in the home, nil where nothing does, and SupervisorError why it could not be asked.
	Supervisor      *supervisor.Status
	SupervisorError error
}

// patience is how long doctor waits for a program or the supervisor to answer.
const patience = 2 * time.Second

// Look gathers the facts. It changes nothing.
func Look(ctx context.Context, tools *toolchain.Toolchain, h home.Home) Facts {
	f := LookFast(ctx, tools, h)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if f.GoError == nil {
		f.Tools, f.ToolsError = tools.List(ctx)
	}
	if f.GoError == nil && f.ToolsError == nil {
		f.Leftover, f.ToolsError = leftover(ctx, tools)
	}
	return f
}

// LookFast gathers the facts but for the tools that are built, in a moment.
func LookFast(ctx context.Context, tools *toolchain.Toolchain, h home.Home) Facts {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f := Facts{
		System: runtime.GOOS, Root: os.Geteuid() == 0, Cores: runtime.NumCPU(),
		Cache: tools.Cache(), CacheFree: freeSpace(tools.Cache()),
		Home: h.Dir(), HomeFree: freeSpace(h.Dir()),
		Loopback: listenBeside(),
	}
	f.Memory, f.FreeMemory = memory()
	f.OpenFiles = openFiles()
	if err := sandbox.Supported(); err != nil {
		f.Isolation = err.Error()
	}
	f.Landlock = landlockVersion()
	f.Go, f.NeedsGo, f.GoError = tools.Go(ctx)
	f.Git, f.HTTPBackend, f.GitError = git(ctx)
	_, err := exec.LookPath("kubectl")
	f.Kubectl = err == nil
	if f.Supervisor, f.SupervisorError = ask(ctx, h); f.Supervisor == nil && f.SupervisorError == nil {
		f.TakenPorts = takenPorts(h)
	}
	return f
}

func leftover(ctx context.Context, tools *toolchain.Toolchain) (bytes int64, err error) {
	list, err := tools.Leftovers(ctx)
	for _, l := range list {
		bytes += l.Bytes
	}
	return bytes, err
}

var gitVersion = regexp.MustCompile(`\d+\.\d+(?:\.\d+)?`)

// git asks git for its version and looks for its server.
func git(ctx context.Context) (version string, backend bool, err error) {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return "", false, err
	}
	if version = gitVersion.FindString(string(out)); version == "" {
		return "", false, fmt.Errorf("git --version says %q", strings.TrimSpace(string(out)))
	}
	dir, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return "", false, err
	}
	_, err = os.Stat(filepath.Join(strings.TrimSpace(string(dir)), "git-http-backend"))
	return version, err == nil, nil
}

// ask returns what runs in the home, nil where nothing does. A home without a control socket is not asked: a client
// would make the secret that it shows.
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

// takenPorts says which of the ports that a stopped home keeps are taken, and by whom.
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

// listenBeside tells why no server can listen on a loopback address besides 127.0.0.1, where databases get theirs.
func listenBeside() error {
	l, err := net.Listen("tcp", "127.1.2.3:0")
	if err != nil {
		return err
	}
	return l.Close()
}

// existing returns the nearest folder at or above path that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

package sandboxes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// filesVariable names a folder with the programs runsc and guest, for the tests that run as another user.
const filesVariable = "SANDBOXES_TEST_FILES"

func TestMain(m *testing.M) {
	sandboxes.Main()
	code := m.Run()
	if dir := programs.dir; dir != "" && os.Getenv(filesVariable) == "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// programs is a folder that every user can read: runsc, and a root file system with the guest.
var programs struct {
	once sync.Once
	dir  string
}

// files returns the folder of the programs.
func files(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the tool runsc")
	}
	programs.once.Do(func() {
		if programs.dir = os.Getenv(filesVariable); programs.dir != "" {
			return
		}
		runsc := toolchaintest.Path(t, "runsc")
		dir, err := os.MkdirTemp("", "sandboxes-test-")
		if err != nil {
			t.Fatal(err)
		}
		programs.dir = dir
		data, err := os.ReadFile(runsc)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "runsc"), data, 0o755)
		}
		if err == nil {
			err = os.Chmod(dir, 0o755)
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, "root", "bin"), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "root", "bin", "guest"), "./testdata/guest")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build the guest: %v\n%s", err, out)
		}
	})
	if programs.dir == "" {
		t.Fatal("the programs are missing: see the first test")
	}
	return programs.dir
}

// start starts a host and closes it after the test.
func start(t testing.TB) *sandboxes.Host {
	t.Helper()
	program := filepath.Join(files(t), "runsc")
	// Strata runs with this umask, and the helper inherits it.
	before := syscall.Umask(0o077)
	h, err := sandboxes.Start(t.Context(), sandboxes.Options{Runsc: program, Log: os.Stderr})
	syscall.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// create creates a pod without a network, and removes it after the test.
func create(t testing.TB, h *sandboxes.Host, pod spec.Pod) *sandboxes.Pod {
	t.Helper()
	if pod.ID == "" {
		pod.ID = "pod"
	}
	p, link, err := h.CreatePod(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	if link != nil {
		link.Close()
	}
	t.Cleanup(func() {
		if err := p.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// guest describes a container that runs an action of the guest.
func guest(t testing.TB, id string, action ...string) spec.Container {
	return spec.Container{
		ID: id, RootFS: spec.RootFS{Folder: filepath.Join(files(t), "root")},
		Process: spec.Process{Args: append([]string{"/bin/guest"}, action...), Env: []string{"PATH=/bin"}},
	}
}

// buffer is a writer that tests can read while others write.
type buffer struct {
	mu      sync.Mutex
	content bytes.Buffer
	changed chan struct{}
}

func newBuffer() *buffer { return &buffer{changed: make(chan struct{}, 1)} }

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() {
		select {
		case b.changed <- struct{}{}:
		default:
		}
	}()
	return b.content.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.String()
}

// waitFor waits until the buffer contains a text.
func (b *buffer) waitFor(t testing.TB, text string, process *sandboxes.Process) {
	t.Helper()
	for !strings.Contains(b.String(), text) {
		select {
		case <-b.changed:
		case <-process.Done():
			if !strings.Contains(b.String(), text) {
				t.Fatalf("the process has ended without %q: %s", text, b)
			}
		case <-t.Context().Done():
			t.Fatalf("no %q: %s", text, b)
		}
	}
}

// begin starts a container, whose output goes to the buffer.
func begin(t testing.TB, p *sandboxes.Pod, c spec.Container, stdin io.Reader) (*sandboxes.Process, *buffer) {
	t.Helper()
	out := newBuffer()
	process, err := p.Start(t.Context(), c, sandboxes.Streams{Stdin: stdin, Stdout: out, Stderr: out})
	if err != nil {
		t.Fatal(err)
	}
	return process, out
}

// run runs a container to its end, removes it, and returns its output and its exit.
func run(t testing.TB, p *sandboxes.Pod, c spec.Container) (string, spec.Exit) {
	t.Helper()
	process, out := begin(t, p, c, nil)
	exit, err := process.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.RemoveContainer(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	return out.String(), exit
}

// leftovers lists the processes that run this test's program as a helper, or its copy of runsc. Tests of other packages run
// sandboxes at the same time. A process whose program cannot be examined counts if its command line looks like one of them.
func leftovers(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	runsc, err := os.Stat(filepath.Join(files(t), "runsc"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		line, _ := os.ReadFile(path) // It fails for a process that has ended.
		if !bytes.Contains(line, []byte("--root=/sys/fs/state")) && !bytes.HasPrefix(line, []byte("strata-sandboxes")) {
			continue
		}
		program, err := os.Stat(filepath.Join(filepath.Dir(path), "exe"))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(program, self) && !os.SameFile(program, runsc) {
			continue
		}
		found = append(found, fmt.Sprintf("%s %.60q", path, line))
	}
	return found
}

package toolchain

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strata-platform/strata/internal/toolchain/filelock"
)

// Variables that make the test binary a process that only requests a tool.
const (
	childRoot  = "STRATA_TEST_TOOLCHAIN_ROOT"
	childCache = "STRATA_TEST_TOOLCHAIN_CACHE"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(childRoot); root != "" {
		tools, err := open(root, os.Getenv(childCache), tinyCatalogue())
		if err == nil {
			_, err = tools.Path(context.Background(), "hello")
		}
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns a command that requests hello in another process.
func child(t *testing.T, root, cache string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childRoot+"="+root, childCache+"="+cache)
	return cmd
}

// fakeGo puts a go command first on PATH that runs body in a shell before it calls the real one.
func fakeGo(t *testing.T, body string) {
	t.Helper()
	original, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script(t, dir, "go", `if [ "$1" = build ]; then `+body+`; fi; exec "`+original+`" "$@"`)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestConcurrentProcessesBuildOnce(t *testing.T) {
	builds := filepath.Join(t.TempDir(), "builds")
	fakeGo(t, `echo build >>"`+builds+`"`)
	root, cache := tinyRoot(t), t.TempDir()
	var group errgroup.Group
	for range 3 {
		cmd := child(t, root, cache)
		group.Go(func() error {
			if out, err := cmd.CombinedOutput(); err != nil {
				return errors.New(string(out))
			}
			return nil
		})
	}
	tools := openTiny(t, root, cache)
	group.Go(func() error { return tools.Ensure(t.Context(), nil, "hello") })
	group.Go(func() error { return tools.Ensure(t.Context(), nil, "hello") })
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(builds); string(content) != "build\n" {
		t.Errorf("the builds are %q, %v; want one", content, err)
	}
}

func TestInterruptedBuildLeavesNothing(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	fakeGo(t, `mkfifo never; : >"`+started+`"; cat never`)
	cache := t.TempDir()
	tools := openTiny(t, tinyRoot(t), cache)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- tools.Ensure(ctx, nil, "hello") }()
	awaitFile(t, started)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the error of the interrupted build is %v", err)
	}
	for _, name := range entries(t, cache) {
		if !strings.HasSuffix(name, ".lock") {
			t.Errorf("the interrupted build left %s", name)
		}
	}
}

func TestTheFilesOfAKilledBuildAreRemoved(t *testing.T) {
	dir := t.TempDir()
	started, proceed := filepath.Join(dir, "started"), filepath.Join(dir, "proceed")
	fakeGo(t, `if [ ! -e "`+proceed+`" ]; then mkfifo never; echo $$ >pid; mv pid "`+started+`"; exec cat never; fi`)
	root, cache := tinyRoot(t), t.TempDir()

	cmd := child(t, root, cache)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, started)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	pid := writtenPid(t, started)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if runtime.GOOS == "linux" {
		await(t, "the process of the killed build ends", func() bool { return !lives(pid) })
	}
	stages := func() []string {
		return slices.DeleteFunc(entries(t, cache), func(name string) bool { return !strings.Contains(name, stageInfix) })
	}
	if len(stages()) != 1 {
		t.Fatalf("the killed build left %v, want its stage", stages())
	}

	write(t, proceed, "")
	if _, err := openTiny(t, root, cache).Path(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if len(stages()) != 0 {
		t.Errorf("the next build left %v", stages())
	}
}

func TestWaitForAnotherBuildEndsWithItsContext(t *testing.T) {
	root, cache := tinyRoot(t), t.TempDir()
	tools := openTiny(t, root, cache)
	dir, err := tools.dir(t.Context(), tools.bundles[0])
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := filelock.Take(t.Context(), dir+".lock", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	report := func(e Event) {
		if e.Progress != Waiting {
			t.Errorf("while another builds, Ensure reports %s", e)
		}
		cancel()
	}
	if err := tools.Ensure(ctx, report, "hello"); !errors.Is(err, context.Canceled) {
		t.Errorf("Ensure says %v", err)
	}
}

// awaitFile waits until a file exists.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	await(t, path+" exists", func() bool { return exists(path) })
}

// await waits until a condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	end := time.After(time.Minute)
	for !condition() {
		select {
		case <-ticker.C:
		case <-end:
			t.Fatalf("timeout: wait until %s", what)
		}
	}
}

// writtenPid reads a process ID from a file.
func writtenPid(t *testing.T, path string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// lives reports whether a process exists and is not a zombie.
func lives(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	// The state follows the name in parentheses (proc(5)).
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

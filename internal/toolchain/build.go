package toolchain

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/toolchain/filelock"
)

// interruptGrace is how long the go command may take to exit after an interrupt.
const interruptGrace = 10 * time.Second

// A job is the build of one missing tool.
type job struct {
	tool    tool
	same    []string // the bundle's tools that are the same program
	module  *module
	version string
	dir     string // the bundle's folder in the cache
	report  func(Progress, Event)
}

// run builds the tool in a folder beside the cache folder, and moves it into the cache folder as its last step. So an
// interrupted build leaves no incomplete tool. Only one process at a time builds the tools of a bundle; the others wait,
// and then use its result.
func (j job) run(ctx context.Context) error {
	start := time.Now()
	cache := filepath.Dir(j.dir)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return explain(err, cache)
	}
	unlock, err := filelock.Take(ctx, j.dir+".lock", func() { j.report(Waiting, Event{}) })
	if err != nil {
		return explain(err, cache)
	}
	defer unlock()

	target := filepath.Join(j.dir, j.tool.name)
	end := Built
	if !exists(target) {
		if end, err = j.make(ctx, target, start); err != nil {
			return explain(err, cache)
		}
	}
	j.report(end, Event{Elapsed: time.Since(start)})
	return nil
}

// make copies or builds the tool, moves it to target, and returns Copied, Linked or Built.
func (j job) make(ctx context.Context, target string, start time.Time) (Progress, error) {
	stage, err := j.stage()
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(stage) }()

	end, made := Copied, filepath.Join(stage, j.tool.name)
	if release := j.release(ctx); release != "" {
		err = copyFile(release, made)
	} else if built := j.built(); built != "" {
		end, err = Linked, os.Link(built, made)
	} else {
		end = Built
		stop := j.beat(start)
		made, err = j.compile(ctx, stage)
		stop()
	}
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(j.dir, 0o755); err != nil {
		return "", err
	}
	return end, os.Rename(made, target)
}

// built returns the path of a built tool that is the same program, or "". A copy from a release is another program.
func (j job) built() string {
	pkg := j.tool.pkg
	if j.tool.local() {
		pkg = path.Join(j.module.path, pkg)
	}
	for _, name := range j.same {
		file := filepath.Join(j.dir, name)
		if info, err := buildinfo.ReadFile(file); err == nil && info.Path == pkg {
			return file
		}
	}
	return ""
}

// stage removes the folders of interrupted builds, and creates a folder beside the bundle's. The caller holds the lock. A
// compiler that outlives its killed build may still write into a removed folder. The next build or prune removes those
// files.
func (j job) stage() (string, error) {
	stale, err := filepath.Glob(j.dir + stageInfix + "*")
	if err != nil {
		return "", err
	}
	for _, dir := range stale {
		_ = os.RemoveAll(dir)
	}
	return os.MkdirTemp(filepath.Dir(j.dir), filepath.Base(j.dir)+stageInfix+"*")
}

// stageInfix separates the name of a cache folder from the random suffix of a stage beside it.
const stageInfix = ".stage-"

// beat reports that the build is running, now and at every heartbeat, until the caller calls stop.
func (j job) beat(start time.Time) (stop func()) {
	j.report(Building, Event{})
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				j.report(Building, Event{Elapsed: time.Since(start)})
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

// compile builds the tool in a folder below stage, and returns its path.
func (j job) compile(ctx context.Context, stage string) (string, error) {
	source, temp, out := filepath.Join(stage, "source"), filepath.Join(stage, "tmp"), filepath.Join(stage, "out")
	for _, dir := range []string{source, temp, out} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	for path, content := range j.module.files {
		if err := writeFile(filepath.Join(source, path), content); err != nil {
			return "", err
		}
	}
	env := append(environment(), "GOTMPDIR="+temp)
	run := func(name string, args ...string) ([]byte, error) {
		return command(ctx, source, env, name, args...)
	}
	if err := j.copyEmbeds(run, source); err != nil {
		return "", err
	}
	if err := j.replace(run, source, filepath.Join(stage, "modules")); err != nil {
		return "", err
	}
	program := filepath.Join(out, j.tool.name)
	args := append([]string{"build", "-o", program}, j.tool.flags(j.version)...)
	if _, err := run("go", append(args, j.tool.pkg)...); err != nil {
		return "", err
	}
	if !j.tool.folder {
		return program, nil
	}
	folder := program + ".out"
	if _, err := run(program, folder); err != nil {
		return "", err
	}
	return folder, nil
}

// A runner runs a program in the folder of a build and returns its standard output.
type runner func(name string, args ...string) ([]byte, error)

// copyEmbeds copies the data files that the tool's main package embeds into the package's folder.
func (j job) copyEmbeds(run runner, source string) error {
	if len(j.tool.embeds.files) == 0 {
		return nil
	}
	dir, err := moduleDir(run, j.tool.embeds.module)
	if err != nil {
		return err
	}
	for _, name := range j.tool.embeds.files {
		content, err := os.ReadFile(filepath.Join(dir, j.tool.embeds.dir, name))
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(source, j.tool.pkg, name), content); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// command runs a program in dir, with variables added to the environment, and returns its standard output. When ctx ends,
// it interrupts the program's process group. On Linux the program is also killed when this process ends.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The kernel kills the program when the starting thread ends, so the thread must not end early.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &commandError{args: cmd.Args, output: stderr.String() + stdout.String(), err: err}
	}
	return stdout.Bytes(), nil
}

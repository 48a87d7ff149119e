package toolchain

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// interruptGrace is how long the go command may take to end once it was interrupted.
const interruptGrace = 10 * time.Second

// A job is the build of one tool that is missing.
type job struct {
	tool    tool
	module  *module
	version string
	dir     string // the bundle's folder in the cache
	report  func(Progress, Event)
}

// run builds the tool in a folder beside the cache folder and moves it there as its last step, so that whatever ends a
// build leaves nothing half-made. One process at a time builds tools of a bundle; the others find them built.
func (j job) run(ctx context.Context) error {
	start := time.Now()
	cache := filepath.Dir(j.dir)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return explain(err, cache)
	}
	unlock, err := lock(ctx, j.dir+".lock", func() { j.report(Waiting, Event{}) })
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

// make copies or builds the tool, moves it to target, and returns how it came there.
func (j job) make(ctx context.Context, target string, start time.Time) (Progress, error) {
	stage, err := j.stage()
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(stage) }()

	end, made := Copied, filepath.Join(stage, j.tool.name)
	if release := j.release(ctx); release != "" {
		err = copyFile(release, made)
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

// stage makes a folder beside the bundle's, after removing those that interrupted builds have left: the caller holds
// the lock. A compiler that a killed build has left may still write into one for a moment, which then goes with the
// next build or prune.
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

// stageInfix stands between the name of a cache folder and the random end of a stage beside it.
const stageInfix = ".stage-"

// beat reports that the build goes on, now and every heartbeat, until the function it returns is called.
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

// compile makes the tool somewhere in stage and returns its path.
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

// copyEmbeds puts the data files that the tool's main package embeds next to it.
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

// command runs a program in dir, with variables added to the environment, and returns its standard output. When ctx
// ends, the program and what it has started are interrupted together. On Linux the program also ends with this process.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The kernel counts the death of the thread that started the program as that of its parent.
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

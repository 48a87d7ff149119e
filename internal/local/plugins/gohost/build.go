package gohost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// options is runtime.options of Pulumi.yaml.
type options struct {
	// binary is an existing program: a path relative to the program's folder or the project's, or a name on PATH.
	binary string
	// buildTarget is the path for the built program, relative to the program's folder. If it is empty, the host
	// removes the program after the run.
	buildTarget string
}

func optionsOf(info *pulumirpc.ProgramInfo) (options, error) {
	var o options
	for name, value := range info.GetOptions().AsMap() {
		text, ok := value.(string)
		if !ok && (name == "binary" || name == "buildTarget") {
			return o, fmt.Errorf("runtime option %s of Pulumi.yaml is %v: it must be a string", name, value)
		}
		switch name {
		case "binary":
			o.binary = text
		case "buildTarget":
			o.buildTarget = text
		}
	}
	if o.binary != "" && o.buildTarget != "" {
		return o, errors.New("runtime options binary and buildTarget of Pulumi.yaml exclude each other: set one of them")
	}
	return o, nil
}

// program builds or finds the program of a run. It returns the path of the executable, and a function that removes
// temporary files.
func (h *host) program(ctx context.Context, engine string, req *pulumirpc.RunRequest) (path string, remove func(), err error) {
	keep := func() {}
	info := req.GetInfo()
	o, err := optionsOf(info)
	if err != nil {
		return "", keep, err
	}
	if o.binary != "" {
		path, err = findBinary(o.binary, info)
		return path, keep, err
	}
	h.tell(ctx, engine, "Compiling the program ...")
	if o.buildTarget != "" {
		path = o.buildTarget
		if !filepath.IsAbs(path) {
			path = filepath.Join(info.GetProgramDirectory(), path)
		}
		return path, keep, build(ctx, info, path)
	}
	dir, err := os.MkdirTemp("", "pulumi-go-")
	if err != nil {
		return "", keep, fmt.Errorf("create a folder for the built program: %w", err)
	}
	remove = func() { os.RemoveAll(dir) }
	path = filepath.Join(dir, "program")
	if err := build(ctx, info, path); err != nil {
		remove()
		return "", keep, err
	}
	return path, remove, nil
}

// findBinary returns the path of an existing program.
func findBinary(name string, info *pulumirpc.ProgramInfo) (string, error) {
	for _, dir := range []string{info.GetProgramDirectory(), info.GetRootDirectory()} {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if stat, err := os.Stat(path); err == nil && !stat.IsDir() {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find the program %s, runtime option binary of Pulumi.yaml: it is not in %s and not on PATH", name, info.GetProgramDirectory())
	}
	return path, nil
}

// build compiles the program to a file. Its flags are those of Strata's own build, so the layers' programs find their
// packages in the build cache.
func build(ctx context.Context, info *pulumirpc.ProgramInfo, to string) error {
	_, err := goCommand(ctx, info.GetProgramDirectory(), "build", "-buildvcs=false", "-ldflags=-s -w", "-o", to)
	if err != nil {
		return fmt.Errorf("build the program in %s: %w", info.GetProgramDirectory(), err)
	}
	if stat, err := os.Stat(to); err != nil || stat.Mode()&0o111 == 0 {
		return fmt.Errorf("build the program in %s: the folder has no package main: add one", info.GetProgramDirectory())
	}
	return nil
}

// goCommand runs the go command and returns its output. Its error includes the command's error output.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("go is not on PATH: install Go")
	}
	c := command(ctx, dir, tool, args...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

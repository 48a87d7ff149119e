package toolchain

import (
	"context"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// versionTimeout limits a program that prints its version.
const versionTimeout = 10 * time.Second

// release returns the path of the tool on PATH if it reports the pinned version, and "" otherwise. A release does not
// contain this repository's replacements, so a tool with replacements is never taken from PATH.
func (j job) release(ctx context.Context) string {
	if len(j.module.replacements) > 0 {
		return ""
	}
	path, err := exec.LookPath(j.tool.name)
	if err != nil {
		return ""
	}
	// The tools of a home can be on PATH. They are builds, perhaps by another version of Go, and not releases.
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	cache, err := filepath.EvalSymlinks(filepath.Dir(j.dir))
	if err != nil || strings.HasPrefix(resolved, cache+string(filepath.Separator)) {
		return ""
	}
	if said, err := j.tool.versionOf(ctx, resolved); err != nil || said != j.version {
		return ""
	}
	return resolved
}

// versionOf returns a program's version: the one that it prints, or the one in its build information. It returns "" for a
// program with neither.
func (t tool) versionOf(ctx context.Context, path string) (string, error) {
	if t.versionArgs != nil {
		return askVersion(ctx, path, t.versionArgs)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil || info.Main.Path != t.pin || info.Main.Version == "(devel)" {
		return "", nil
	}
	return info.Main.Version, nil
}

// versionText matches a semantic version.
var versionText = regexp.MustCompile(`\bv?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)`)

// askVersion returns the version that a program prints.
func askVersion(ctx context.Context, path string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		if m := versionText.FindStringSubmatch(string(out)); m != nil {
			return "v" + m[1], nil
		}
		err = errors.New("no version in its output")
	}
	return "", &commandError{args: cmd.Args, output: stderr.String() + string(out), err: err}
}

// copyFile copies a program.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

package gitserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// suffix ends the name of a repository's folder.
const suffix = ".git"

// List returns the names of the repositories in the folder of a server.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), suffix); ok && validName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Bundle writes the references of a repository and their objects to a new file, as of one moment, even if somebody pushes
// meanwhile. dir is the folder of the repositories. For a repository without references, which git cannot bundle, it writes no
// file, and ok is false.
func Bundle(ctx context.Context, dir, repository, file string) (ok bool, err error) {
	folder := filepath.Join(dir, repository+suffix)
	refs, err := bare(ctx, dir, folder, "for-each-ref", "--count=1")
	if err == nil && len(refs) > 0 {
		ok = true
		// A team chooses the objects, and the search for deltas could take minutes. Existing deltas stay.
		_, err = bare(ctx, dir, folder, "-c", "pack.window=0", "bundle", "create", "--quiet", file, "--all")
	}
	if err != nil {
		return false, fmt.Errorf("bundle the Git repository %s: %w", repository, err)
	}
	return ok, nil
}

// Unbundle creates a repository from the file of Bundle. It checks the objects' checksums, and runs nothing that the file contains.
func Unbundle(ctx context.Context, dir, repository, file string) error {
	if !validName.MatchString(repository) {
		return fmt.Errorf("create the Git repository %q: it is no name of a repository", repository)
	}
	folder := filepath.Join(dir, repository+suffix)
	_, err := bare(ctx, dir, dir, "init", "--quiet", "--bare", "--initial-branch="+Branch, folder)
	if err == nil {
		_, err = bare(ctx, dir, folder, "fetch", "--quiet", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", file, "refs/*:refs/*")
	}
	if err != nil {
		return fmt.Errorf("create the Git repository %s from its bundle: %w", repository, err)
	}
	return nil
}

// bare runs git in a folder, and returns its output.
func bare(ctx context.Context, root, folder string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir, command.Env = folder, append(hermetic(root), "LC_ALL=C")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && stderr.Len() > 0 {
		// Git's message has several lines, and the last one has the result.
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		err = fmt.Errorf("git %s: %q", strings.Join(args, " "), lines[len(lines)-1])
	}
	return out, err
}

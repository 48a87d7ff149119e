// Package teamfiles adds files to a clone of a team's repository.
package teamfiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/strata-platform/strata/internal/atomicfile"
	"github.com/strata-platform/strata/internal/terminal"
)

// listFile is the file that lists what Flux applies.
const listFile = "kustomization.yaml"

// longestError is the maximum number of characters of Git's error.
const longestError = 1000

// Commit writes a new file into the folder dir of a clone, adds it to the resources of the folder's kustomization.yaml, and
// commits both as the user, without the user's other changes. It returns the commit. If it fails, it changes neither file. The
// rest of kustomization.yaml keeps every byte.
func Commit(ctx context.Context, dir, name string, content []byte, message string) (commit string, err error) {
	list := filepath.Join(dir, listFile)
	// Whoever wrote the repository must not choose which file changes.
	if info, err := os.Lstat(list); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("add %s: %s is a link or a folder: replace it with a file", name, list)
	}
	before, err := os.ReadFile(list)
	if err != nil {
		return "", fmt.Errorf("add %s: %w: give the folder of the team's repository that contains %s", name, err, listFile)
	}
	after, err := withResource(before, name)
	if err != nil {
		return "", fmt.Errorf("add %s to %s: %w", name, list, err)
	}
	changed, err := git(ctx, dir, "status", "--porcelain", "--", listFile)
	if err != nil {
		return "", err
	}
	if changed != "" {
		return "", fmt.Errorf("add %s: %s has changes that are not committed: commit them first", name, list)
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", fmt.Errorf("add %s: %w: choose another name, or remove the file", name, err)
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = atomicfile.Replace(list, after)
	}
	if err == nil {
		if _, err = git(ctx, dir, "add", "--", name); err == nil {
			_, err = git(ctx, dir, "commit", "--quiet", "--message="+message, "--only", "--", name, listFile)
		}
	}
	if err != nil {
		_, unstaged := git(context.WithoutCancel(ctx), dir, "rm", "--quiet", "--cached", "--ignore-unmatch", "--", name)
		return "", errors.Join(err, unstaged, os.Remove(file.Name()), atomicfile.Replace(list, before))
	}
	return git(ctx, dir, "rev-parse", "HEAD")
}

// withResource returns a kustomization.yaml with another resource, after the last one.
func withResource(content []byte, name string) ([]byte, error) {
	var document struct{ Resources yaml.Node }
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	list := document.Resources
	if list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 || len(list.Content) == 0 {
		return nil, fmt.Errorf("it has no list of resources with one line for each: add %s to its resources by hand", name)
	}
	if slices.ContainsFunc(list.Content, func(each *yaml.Node) bool { return each.Value == name }) {
		return nil, errors.New("its resources contain the file already")
	}
	last := list.Content[len(list.Content)-1]
	lines := strings.SplitAfter(string(content), "\n")
	if last.Kind != yaml.ScalarNode || last.Line > len(lines) {
		return nil, fmt.Errorf("its last resource is no file name: add %s to its resources by hand", name)
	}
	dash, _, found := strings.Cut(lines[last.Line-1], "-")
	if !found || strings.TrimSpace(dash) != "" {
		return nil, fmt.Errorf("its last resource does not begin on a line of its own: add %s to its resources by hand", name)
	}
	if !strings.HasSuffix(lines[last.Line-1], "\n") {
		lines[last.Line-1] += "\n"
	}
	return []byte(strings.Join(slices.Insert(lines, last.Line, dash+"- "+name+"\n"), "")), nil
}

// git runs git in a folder, as the user, and returns its output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	var stdout, stderr bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = dir, &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, terminal.Line(strings.TrimSpace(stderr.String()), longestError))
	}
	return strings.TrimSpace(stdout.String()), nil
}

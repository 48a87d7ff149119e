// Package parts contains the parts of Strata's repository that strata also needs without a clone: layer 3 as a commit of Git, and
// the first files of a team's repository.
package parts

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/examples"
	"github.com/strata-platform/strata/operator/config"
	"github.com/strata-platform/strata/sync"
)

// Example returns the first files of a team's repository.
func Example() (fs.FS, error) { return fs.Sub(examples.Files, "wordpress") }

// A Tree is a folder of files as a commit of Git without parents. The hash of the commit depends on nothing but the files, so a
// repository that pins the hash pins the files, and every machine can create the same commit.
type Tree struct {
	files  map[string][]byte // by path, with slashes
	commit string
}

// Sync returns layer 3 of this program: sync/ and operator/config/ without Go files.
func Sync() (Tree, error) {
	files := map[string][]byte{}
	for folder, from := range map[string]fs.FS{"sync": sync.Files, "operator/config": config.Files} {
		err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(from, name)
			files[path.Join(folder, name)] = content
			return err
		})
		if err != nil {
			return Tree{}, fmt.Errorf("read the manifests of layer 3 in this program: %w", err)
		}
	}
	return newTree(files), nil
}

func newTree(files map[string][]byte) Tree { return Tree{files, commitOf(files)} }

// Commit returns the hash of the tree's commit.
func (t Tree) Commit() string { return t.commit }

// File returns the content of a file by its path, or nil.
func (t Tree) File(name string) []byte { return t.files[name] }

// CommitIn creates a Git repository with the commit in dir, an empty folder.
func (t Tree) CommitIn(ctx context.Context, dir string) error {
	if err := t.write(dir); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all", "--force"}, {"commit", "--quiet", "--message=" + message}} {
		if _, err := git(ctx, dir, args...); err != nil {
			return err
		}
	}
	head, err := git(ctx, dir, "rev-parse", "HEAD")
	if err == nil && head != t.commit {
		err = fmt.Errorf("git computes the commit %s of the files of %s: check that git uses SHA-1 and does not convert files", head, t.commit)
	}
	return err
}

// git runs git in dir, without the user's settings, and returns its output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TEMPLATE_DIR=", "GIT_DEFAULT_HASH=sha1",
		"GIT_AUTHOR_NAME="+author, "GIT_AUTHOR_EMAIL="+email, "GIT_AUTHOR_DATE=@"+date,
		"GIT_COMMITTER_NAME="+author, "GIT_COMMITTER_EMAIL="+email, "GIT_COMMITTER_DATE=@"+date,
	)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.Join(strings.Fields(stderr.String()), " "))
	}
	return strings.TrimSpace(string(out)), nil
}

// write writes the files below the folder dir.
func (t Tree) write(dir string) error {
	for name, content := range t.files {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// checkEmpty returns an error unless root does not exist, or is an empty folder of this user.
func checkEmpty(root string) error {
	info, err := os.Lstat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it exists and is not a folder: name a new or empty folder")
	}
	if owner, ok := ownerOf(info); ok && owner != os.Geteuid() {
		return fmt.Errorf("another user (uid %d) owns the folder: name one of your own", owner)
	}
	entries, err := os.ReadDir(root)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("it contains %s: name a new or empty folder", entries[0].Name())
	}
	return err
}

// write writes the files below root. It opens files only through os.Root and never over an existing file, so it follows no
// symbolic link that somebody puts into root meanwhile. remove removes everything that write has created.
func write(root string, content map[string][]byte) (remove func(), err error) {
	var made []string // in the order of creation
	remove = func() {
		for _, each := range slices.Backward(made) {
			_ = os.RemoveAll(each)
		}
	}
	if err := os.Mkdir(root, 0o755); err == nil {
		made = append(made, root)
	} else if !errors.Is(err, fs.ErrExist) {
		return remove, err
	}
	folder, err := os.OpenRoot(root)
	if err != nil {
		return remove, err
	}
	defer folder.Close()
	made = append(made, filepath.Join(root, ".git"))
	for name, text := range content {
		if first, _, deeper := strings.Cut(name, "/"); deeper {
			made = append(made, filepath.Join(root, first))
		} else {
			made = append(made, filepath.Join(root, name))
		}
		if err := folder.MkdirAll(path.Dir(name), 0o755); err != nil {
			return remove, err
		}
		file, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return remove, err
		}
		_, err = file.Write(text)
		if err := errors.Join(err, file.Close()); err != nil {
			return remove, err
		}
	}
	return remove, nil
}

// track creates a Git repository and adds the files. It makes no commit, because a commit carries the user's name.
func track(ctx context.Context, root string) error {
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"}} {
		command := exec.CommandContext(ctx, "git", args...)
		command.Dir = root
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, strings.Join(strings.Fields(string(out)), " "))
		}
	}
	return nil
}

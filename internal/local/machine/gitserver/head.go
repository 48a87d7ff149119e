package gitserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Head returns the ID of the latest commit of a branch. dir is the folder of the repositories. It starts no git, because
// its callers look often. The error is [fs.ErrNotExist] if there is no such branch.
func Head(dir, repository, branch string) (commit string, err error) {
	repository = filepath.Join(dir, repository+".git")
	ref := "refs/heads/" + branch
	raw, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(ref)))
	if err == nil {
		return strings.TrimSpace(string(raw)), nil
	}
	// A branch has no file of its own after git has packed it.
	packed, packedErr := os.ReadFile(filepath.Join(repository, "packed-refs"))
	for line := range strings.Lines(string(packed)) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
			return id, nil
		}
	}
	if packedErr != nil && !errors.Is(packedErr, fs.ErrNotExist) {
		err = packedErr
	}
	return "", fmt.Errorf("find the branch %s: %w", branch, err)
}

package trial

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
)

// unpack writes the files of a repository below a folder as kustomize-controller gets them: source-controller omits links,
// and files that .sourceignore or its own list of patterns matches. It returns the folder with the files. The caller
// removes the folder, even after an error.
func unpack(folder string, repository fs.FS) (artifact string, err error) {
	if artifact, err = os.MkdirTemp(folder, "artifact-"); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(artifact)
	if err != nil {
		return artifact, err
	}
	defer root.Close()
	err = fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case entry.IsDir():
			return root.Mkdir(name, 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		return root.WriteFile(name, data, 0o600)
	})
	if err != nil {
		return artifact, err
	}
	return artifact, ignore(artifact)
}

// ignore removes the files that source-controller omits from an artifact (github.com/fluxcd/pkg/artifact/storage, Archive
// and SourceIgnoreFilter).
func ignore(artifact string) error {
	domain := strings.Split(artifact, string(filepath.Separator))
	patterns, err := sourceignore.LoadIgnorePatterns(artifact, domain)
	if err != nil {
		return err
	}
	matcher := sourceignore.NewDefaultMatcher(nil, domain)
	if len(patterns) > 0 {
		matcher = sourceignore.NewMatcher(append(sourceignore.VCSPatterns(domain), patterns...))
	}
	return filepath.WalkDir(artifact, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !matcher.Match(strings.Split(name, string(filepath.Separator)), false) {
			return err
		}
		return os.Remove(name)
	})
}

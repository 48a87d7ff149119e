package trial

import (
	"io/fs"
	"os"

	"github.com/strata-platform/strata/operator/source"
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
	return artifact, source.Prune(artifact, "")
}

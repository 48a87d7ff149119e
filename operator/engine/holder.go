package engine

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// errFound ends a walk.
var errFound = errors.New("found")

// holder returns the folder below StateRoot of a team one of whose other stacks has an object in its state, empty where
// none has it, as far as can be told. Objects have names that others can give to theirs, too: what is there after a
// creation was cut off need not be what was being made.
func (r *run) holder(kind, id string) string {
	if r.StateRoot == "" || !r.local {
		return ""
	}
	root, err := os.OpenRoot(r.StateRoot)
	if err != nil {
		return ""
	}
	defer root.Close()
	own, err := filepath.Rel(r.StateRoot, filepath.Join(r.BackendFolder, r.stateFolder))
	if err != nil {
		return ""
	}
	own = path.Join(filepath.ToSlash(own), ".pulumi", "stacks", r.Project, r.Stack[strings.LastIndexByte(r.Stack, '/')+1:]+".json")
	holder := ""
	err = fs.WalkDir(root.FS(), ".", func(file string, entry fs.DirEntry, err error) error {
		inside, parent := path.Base(path.Dir(file)) == ".pulumi", path.Base(file)
		switch {
		case err != nil && entry != nil && entry.IsDir(), err == nil && entry.IsDir() && inside && parent != "stacks":
			return fs.SkipDir
		case err != nil, entry.IsDir(), file == own, path.Ext(file) != ".json", !strings.Contains(file, "/.pulumi/stacks/"):
			return nil
		}
		if r.stateHas(root, file, kind, id) {
			holder, _, _ = strings.Cut(file, "/")
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return ""
	}
	return holder
}

// stateHas tells whether the state in a file has an object. One that cannot be read has none.
func (r *run) stateHas(root *os.Root, file, kind, id string) bool {
	content, err := root.OpenFile(filepath.FromSlash(file), os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return false
	}
	defer content.Close()
	if info, err := content.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxState {
		return false
	}
	data, err := io.ReadAll(content)
	var stored struct {
		Checkpoint struct {
			Latest json.RawMessage `json:"latest"`
		} `json:"checkpoint"`
	}
	if err != nil || json.Unmarshal(data, &stored) != nil {
		return false
	}
	state := &deployment{project: r.cloudProject()}
	if state.decodeInner(stored.Checkpoint.Latest) != nil {
		return false
	}
	for _, other := range state.resources {
		if other.text("type") == kind && (other.text("id") == id || objectID(other, state.projectOf(other)) == id) {
			return true
		}
	}
	return false
}

package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/untrusted"
)

// These bounds of the states of one team, and the checks of their names, ensure that no team can make the backup of all fail.
const (
	maxStates     = 128 << 20 // bytes
	maxTeamStates = 2000
)

// Collection is the content of a backup.
type Collection struct {
	Files []backup.File
	// Repositories are the names of the Git repositories, and States is the number of states, of layers and of Stacks.
	Repositories []string
	States       int
	// Secrets is the number of Secrets that people have created.
	Secrets int
	// Left says which parts the backup leaves out, and why.
	Left []string

	// taken contains the path of each file, and with the value false that of each folder above one.
	taken map[string]bool
}

// Collect returns the content of a backup of a home. temporary is an empty folder for files that the content refers to. The caller
// keeps runs of the layers out. A run of a Stack may continue: Pulumi replaces a state in one step, and a state in which
// operations are pending is that of a killed run, which the operator settles.
func Collect(ctx context.Context, h home.Home, temporary string) (*Collection, error) {
	root, err := os.OpenRoot(h.Dir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := &Collection{taken: map[string]bool{}}
	for _, name := range []string{portsFile, environmentFile, operatorFile, sourceFile} {
		if err := c.add(root, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, folder := range []string{credentials, authorities, layers + "/bootstrap", layers + "/platform"} {
		if err := c.addFolder(root, folder, h.Environment()); err != nil {
			return nil, err
		}
	}
	if err := c.addStates(ctx, h.LayerState(), layerState, backup.MaxTotal); err != nil {
		return nil, err
	}
	if len(c.Left) > 0 {
		return nil, errors.New(c.Left[0])
	}
	for _, folder := range []string{teamStates, lostStates} {
		if err := c.addTeams(ctx, h, folder); err != nil {
			return nil, err
		}
	}
	return c, c.addRepositories(ctx, h, temporary)
}

// AddSecrets adds the result of Secrets.
func (c *Collection) AddSecrets(raw []byte, count int) {
	if c.Secrets = count; count > 0 {
		c.Files = append(c.Files, backup.File{Path: credentials + "/" + SecretsFile, Content: raw})
	}
}

// add adds a file.
func (c *Collection) add(root *os.Root, name string) error {
	content, err := untrusted.ReadPlain(root, filepath.FromSlash(name), maxFile)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.put(name, content)
	return nil
}

// addFolder adds the files of a folder that a backup contains.
func (c *Collection) addFolder(root *os.Root, folder, environment string) error {
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if name := path.Join(folder, entry.Name()); allowed(name, environment) {
			if err := c.add(root, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// addTeams adds the states in each subfolder of a folder of the home. Runs of teams can write to these subfolders.
func (c *Collection) addTeams(ctx context.Context, h home.Home, folder string) error {
	entries, err := os.ReadDir(filepath.Join(h.Dir(), filepath.FromSlash(folder)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		name := path.Join(folder, entry.Name())
		if err := c.addStates(ctx, filepath.Join(h.Dir(), filepath.FromSlash(name)), name, maxStates); err != nil {
			return err
		}
	}
	return nil
}

// addStates adds the states in a folder of the home, as members below a path. It leaves out what cannot be read.
func (c *Collection) addStates(ctx context.Context, folder, below string, budget int64) error {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	newest, backends, count := map[string]time.Time{}, map[string]bool{}, 0
	err = backend.EachState(ctx, folder, budget, func(file string, state []byte, err error) bool {
		plain := strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".zst")
		name := path.Join(below, plain)
		var changed time.Time
		if info, statErr := root.Stat(filepath.FromSlash(file)); statErr == nil {
			changed = info.ModTime()
		}
		last, again := newest[name]
		if err == nil && !again {
			err = c.free(name)
		}
		if err == nil && count == maxTeamStates {
			err = fmt.Errorf("the folder has more than %d states", maxTeamStates)
		}
		if err != nil {
			c.leave("the state %q: %v", path.Join(below, file), reason(err))
			return count < maxTeamStates
		}
		// A stack whose compression has changed has several files, and Pulumi uses the one that was modified last.
		if again {
			if changed.After(last) {
				newest[name] = changed
				c.Files[slices.IndexFunc(c.Files, func(f backup.File) bool { return f.Path == name })].Content = state
			}
			return true
		}
		newest[name] = changed
		c.put(name, state)
		c.States++
		count++
		// Without this file, Pulumi takes the backend for one of an old version.
		meta := plain[:strings.LastIndex("/"+plain, "/"+bookkeeping)] + metaFile
		if backends[meta] {
			return true
		}
		backends[meta] = true
		if content, err := untrusted.ReadPlain(root, filepath.FromSlash(meta), maxFile); err == nil && c.free(path.Join(below, meta)) == nil {
			c.put(path.Join(below, meta), content)
		}
		return true
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if err != nil {
		c.leave("states in %s: %v", below, reason(err))
	}
	return nil
}

// free returns an error unless a backup may contain a state at a path, beside the files that it contains already. A team chooses a
// part of the path.
func (c *Collection) free(name string) error {
	if err := backup.CheckPath(name); err != nil || !allowed(name, "") {
		return errors.New("its name is not that of a state")
	}
	_, used := c.taken[name]
	for above := path.Dir(name); above != "."; above = path.Dir(above) {
		used = used || c.taken[above]
	}
	if used {
		return errors.New("its name is that of another state, or of a folder")
	}
	return nil
}

// put adds a file at a free path.
func (c *Collection) put(name string, content []byte) {
	c.Files = append(c.Files, backup.File{Path: name, Content: content})
	c.taken[name] = true
	for above := path.Dir(name); above != "."; above = path.Dir(above) {
		c.taken[above] = false
	}
}

// reason returns an error without a path, which a team may have chosen.
func reason(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at.Err
	}
	return err
}

// maxLeft bounds the texts in Left.
const maxLeft = 100

func (c *Collection) leave(format string, args ...any) {
	if len(c.Left) < maxLeft {
		c.Left = append(c.Left, fmt.Sprintf(format, args...))
	}
}

// addRepositories adds the Git repositories.
func (c *Collection) addRepositories(ctx context.Context, h home.Home, temporary string) error {
	names, err := gitserver.List(h.Git())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		file := filepath.Join(temporary, name+bundled)
		ok, err := gitserver.Bundle(ctx, h.Git(), name, file)
		if err != nil {
			return err
		}
		if ok {
			c.Files = append(c.Files, backup.File{Path: path.Join(git, name+bundled), From: file})
			c.Repositories = append(c.Repositories, name)
		}
	}
	return nil
}

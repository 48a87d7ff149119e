package content

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
	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/untrusted"
)

// These bounds of the states of one team, and the checks of their names, ensure that no team can make the backup of all fail.
const (
	// MaxStates bounds the states of a team, in bytes.
	MaxStates = 128 << 20
	// MaxTeamStates bounds their number.
	MaxTeamStates = 2000
)

// Collection is the content of a backup while it is collected.
type Collection struct {
	// Target is the target of the platform, and Environment its environment.
	Target, Environment string

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

// AddSecrets adds the result of [Secrets].
func (c *Collection) AddSecrets(raw []byte, count int) {
	if c.Secrets = count; count > 0 {
		c.Files = append(c.Files, backup.File{Path: Credentials + "/" + SecretsFile, Content: raw})
	}
}

// AddBundle adds a Git repository: the file with its bundle, which nobody changes until the backup is written.
func (c *Collection) AddBundle(repository, file string) {
	c.Files = append(c.Files, backup.File{Path: path.Join(Git, repository+Bundled), From: file})
	c.Repositories = append(c.Repositories, repository)
}

// Add adds a file below a folder, at its own path.
func (c *Collection) Add(root *os.Root, name string) error {
	content, err := untrusted.ReadPlain(root, filepath.FromSlash(name), maxFile)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.Put(name, content)
	return nil
}

// AddFolder adds the files of a folder that a backup contains.
func (c *Collection) AddFolder(root *os.Root, folder string) error {
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if name := path.Join(folder, entry.Name()); Allowed(c.Target, name, c.Environment) {
			if err := c.Add(root, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// AddStates adds the states of the file backends in a folder, as members below a path. Runs of a team may write to the folder. It leaves
// out what cannot be read, and what exceeds budget, in bytes. convert returns the content of the member; nil adds the state as it is.
func (c *Collection) AddStates(ctx context.Context, folder, below string, budget int64, convert func([]byte) ([]byte, error)) error {
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
		if err == nil && count == MaxTeamStates {
			err = fmt.Errorf("the folder has more than %d states", MaxTeamStates)
		}
		if err == nil && convert != nil {
			state, err = convert(state)
		}
		if err != nil {
			c.Leave("the state %q: %v", path.Join(below, file), reason(err))
			return count < MaxTeamStates
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
		c.Put(name, state)
		c.States++
		count++
		// Without this file, Pulumi takes the backend for one of an old version.
		meta := plain[:strings.LastIndex("/"+plain, "/"+bookkeeping)] + metaFile
		if backends[meta] {
			return true
		}
		backends[meta] = true
		if content, err := untrusted.ReadPlain(root, filepath.FromSlash(meta), maxFile); err == nil && c.free(path.Join(below, meta)) == nil {
			c.Put(path.Join(below, meta), content)
		}
		return true
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if err != nil {
		c.Leave("states in %s: %v", below, reason(err))
	}
	return nil
}

// free returns an error unless a backup may contain a state at a path, beside the files that it contains already. A team chooses a
// part of the path.
func (c *Collection) free(name string) error {
	if err := backup.CheckPath(name); err != nil || !Allowed(c.Target, name, "") {
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

// Put adds a file at a free path.
func (c *Collection) Put(name string, content []byte) {
	if c.taken == nil {
		c.taken = map[string]bool{}
	}
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

// Leave records a part that the backup leaves out, and why.
func (c *Collection) Leave(format string, args ...any) {
	if len(c.Left) < maxLeft {
		c.Left = append(c.Left, fmt.Sprintf(format, args...))
	}
}

package toolchain

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/toolchain/filelock"
)

// A Leftover is a folder in the cache that no tool of this repository uses: from other pins, from another version of Go,
// or from a killed build. Another clone may use it.
type Leftover struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// folderName matches the names of this package's folders in the cache; the first group is the address.
var folderName = regexp.MustCompile(`^([a-z-]+-[0-9a-f]{16})(?:` + regexp.QuoteMeta(stageInfix) + `[0-9]+)?$`)

// pruneWait is how long Prune waits for another process's build before it skips that build's folders.
const pruneWait = 100 * time.Millisecond

// Leftovers returns the folders that Prune would remove if no build is running.
func (t *Toolchain) Leftovers(ctx context.Context) ([]Leftover, error) {
	used := map[string]bool{}
	for _, b := range t.bundles {
		dir, err := t.dir(ctx, b)
		if err != nil {
			return nil, err
		}
		used[dir] = true
	}
	entries, err := os.ReadDir(t.cache)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for leftovers: %w", err)
	}
	var list []Leftover
	for _, entry := range entries {
		path := filepath.Join(t.cache, entry.Name())
		if !entry.IsDir() || used[path] || !folderName.MatchString(entry.Name()) {
			continue
		}
		bytes, err := size(path)
		if err != nil {
			return nil, fmt.Errorf("look for leftovers: %w", err)
		}
		list = append(list, Leftover{Path: path, Bytes: bytes})
	}
	return list, nil
}

// Prune removes the leftovers and returns those that it has removed. It skips folders of running builds. It removes
// nothing while a program in a leftover runs, because that platform may need other programs next.
func (t *Toolchain) Prune(ctx context.Context) ([]Leftover, error) {
	// Every tool has the version of Go in its address, so with a wrong one all tools of this Strata would be leftovers.
	// Without Go, the tools of a bundle tell their addresses.
	if found, needed, err := t.Go(ctx); err == nil && version.Compare(found, needed) < 0 {
		return nil, fmt.Errorf("prune the tools: the Go on PATH is %s, but these tools need %s or newer, and belong to that version: install it first (https://go.dev/dl)", found, needed)
	}
	list, err := t.Leftovers(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		if user := userOf(l.Path); user != "" {
			return nil, fmt.Errorf("prune the tools: %s runs from %s: stop its platform first (`strata local stop` with its STRATA_HOME)", user, l.Path)
		}
	}
	var removed []Leftover
	for _, l := range list {
		done, err := t.remove(ctx, l.Path)
		if err != nil {
			return removed, fmt.Errorf("prune the tools: %w", err)
		}
		if done {
			removed = append(removed, l)
		}
	}
	return removed, nil
}

// remove removes a folder of the cache unless another process builds there. It keeps the lock's empty file, because a
// waiting process has it open.
func (t *Toolchain) remove(ctx context.Context, path string) (done bool, err error) {
	address := filepath.Join(t.cache, folderName.FindStringSubmatch(filepath.Base(path))[1])
	waiting, cancel := context.WithTimeout(ctx, pruneWait)
	defer cancel()
	unlock, err := filelock.Take(waiting, address+".lock", func() {})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unlock()
	return true, os.RemoveAll(path)
}

// size returns the number of bytes in the files below a folder. It ignores files that vanish in the meantime.
func size(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		if err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return bytes, err
}

// userOf returns the name of a process that runs a program below a folder, or "" if there is none or the system has no
// /proc.
func userOf(dir string) string {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		program, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(program, dir+string(filepath.Separator)) {
			return fmt.Sprintf("%s (pid %s)", filepath.Base(program), filepath.Base(filepath.Dir(link)))
		}
	}
	return ""
}

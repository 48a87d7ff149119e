package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
)

// Prune removes from a folder what source-controller leaves out of the folder's artifact: whatever is neither a file nor a folder, and
// what the files .sourceignore and more patterns, those of a source's spec.ignore, name (github.com/fluxcd/pkg/artifact/storage, Archive
// and SourceIgnoreFilter).
func Prune(dir, more string) error {
	// First the links: the next step would follow them.
	if err := removeFiles(dir, func(_ string, entry fs.DirEntry) bool { return !entry.Type().IsRegular() }); err != nil {
		return err
	}
	domain := strings.Split(dir, string(filepath.Separator))
	patterns, err := sourceignore.LoadIgnorePatterns(dir, domain)
	if err != nil {
		return err
	}
	patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(more), domain)...)
	matcher := sourceignore.NewDefaultMatcher(nil, domain)
	if len(patterns) > 0 {
		matcher = sourceignore.NewMatcher(append(sourceignore.VCSPatterns(domain), patterns...))
	}
	return removeFiles(dir, func(name string, _ fs.DirEntry) bool {
		return matcher.Match(strings.Split(name, string(filepath.Separator)), false)
	})
}

// removeFiles removes the entries of a tree that are no folders and that match.
func removeFiles(dir string, match func(name string, entry fs.DirEntry) bool) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !match(name, entry) {
			return err
		}
		return os.Remove(name)
	})
}

package catalogue

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// A Set is the entries that a platform knows: the folders in catalogue/ of its repository, and Strata's own entries. A folder
// of the repository comes before Strata's entry of the same name.
type Set struct {
	own    fs.FS
	folder string
}

// In returns the entries of a platform whose repository has its own entries in folder, which need not exist.
func In(folder string) Set { return Set{os.DirFS(folder), folder} }

// Own reports whether the repository has a folder for an entry, so that Flux applies the entry's Program from there. It
// returns an error if a symbolic link takes the place of a folder or a file: Flux does not follow links out of the repository,
// and somebody else's repository must not decide what else strata reads.
func (s Set) Own(name string) (bool, error) {
	if err := s.check(); err != nil {
		return false, err
	}
	for _, path := range []string{name, name + "/" + EntryFile, name + "/" + ProgramFile} {
		info, err := fs.Lstat(s.own, path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == name:
			return false, nil
		case errors.Is(err, fs.ErrNotExist): // Load or Lint names the missing file.
		case err != nil:
			return false, fmt.Errorf("catalogue entry %s: %w", name, err)
		case path == name && !info.IsDir():
			return false, fmt.Errorf("catalogue entry %s: %s/%s is no folder: write a folder with %s, or remove it", name, Folder, path, EntryFile)
		case path != name && !info.Mode().IsRegular():
			return false, fmt.Errorf("catalogue entry %s: %s/%s is no file: write a file, and no link", name, Folder, path)
		}
	}
	return true, nil
}

// check returns an error if the folder of the repository's own entries exists and is no folder.
func (s Set) check() error {
	if info, err := os.Lstat(s.folder); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is no folder: the platform's own entries are folders in it: remove it, or make a folder of it", s.folder)
	}
	return nil
}

// Names returns the names of all entries, sorted.
func (s Set) Names() ([]string, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	own, err := List(s.own)
	if err != nil {
		return nil, err
	}
	stratas, err := List(Files)
	all := slices.Concat(own, stratas)
	slices.Sort(all)
	return slices.Compact(all), err
}

// Load reads and checks an entry, as the function Load does.
func (s Set) Load(name string) (*Entry, error) {
	from, err := s.from(name)
	if err != nil {
		return nil, err
	}
	return Load(from, name)
}

// Lint returns the problems of an entry, as the function Lint does.
func (s Set) Lint(name string) []string {
	from, err := s.from(name)
	if err != nil {
		return []string{err.Error()}
	}
	return Lint(from, name)
}

// from returns the folder with an entry.
func (s Set) from(name string) (fs.FS, error) {
	if problem := NameProblem(name); problem != "" {
		return nil, fmt.Errorf("catalogue entry %q: its name %s", name, problem)
	}
	if own, err := s.Own(name); own || err != nil {
		return s.own, err
	}
	return Files, nil
}

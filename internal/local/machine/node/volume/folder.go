package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/owners"
)

// A volume of files changes atomically. Its files are in a folder of their own, the link dataLink points to that
// folder, and the names that a program opens are links through dataLink. A change writes a new folder and points
// dataLink to it. Programs that watch their files know this layout from the kubelet (Kubernetes, "Secrets", "Mounted
// Secrets are updated automatically").
const (
	dataLink    = "..data"
	dataPattern = "..data-*"
)

// file is one file of a volume.
type file struct {
	data []byte
	mode fs.FileMode
	// seen is what containers see as the owner and the mode. Nil means root and mode.
	seen *owners.Record
}

// folderMode lets every user of a container enter the folders. The folder of the pod protects them on this machine.
const folderMode = 0o755

// writeFolder atomically replaces the files of the volume in dir by files, which maps paths to files. It changes
// nothing if the volume has these files already, and leaves other entries of dir alone.
func writeFolder(dir string, files map[string]file) error {
	if err := makeReadable(dir); err != nil {
		return err
	}
	link := filepath.Join(dir, dataLink)
	if holds(link, files) {
		return linkNames(dir, files)
	}
	fresh, err := os.MkdirTemp(dir, dataPattern)
	if err != nil {
		return err
	}
	if err := errors.Join(makeReadable(fresh), writeFiles(fresh, files)); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	old, _ := os.Readlink(link)
	if err := symlink(filepath.Base(fresh), link); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := linkNames(dir, files); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, old))
}

// makeReadable creates a folder with folderMode.
func makeReadable(dir string) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	// The umask may have removed bits of the mode.
	return os.Chmod(dir, folderMode)
}

// holds reports whether a folder holds exactly these files.
func holds(dir string, files map[string]file) bool {
	found := 0
	err := filepath.WalkDir(dir+"/", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		want, wanted := files[relative]
		info, err := entry.Info()
		if err != nil || !wanted || info.Mode().Perm() != want.mode {
			return errors.Join(err, fs.ErrInvalid)
		}
		have, err := os.ReadFile(name)
		if err != nil || string(have) != string(want.data) {
			return errors.Join(err, fs.ErrInvalid)
		}
		if want.seen != nil {
			if have, err := owners.Of(name); err != nil || have != *want.seen {
				return errors.Join(err, fs.ErrInvalid)
			}
		}
		found++
		return nil
	})
	return err == nil && found == len(files)
}

// writeFiles writes files with their modes to a folder that no program reads yet.
func writeFiles(dir string, files map[string]file) error {
	for name, f := range files {
		target := filepath.Join(dir, name)
		for at := dir; at != filepath.Dir(target); {
			next, _, _ := strings.Cut(strings.TrimPrefix(target, at+"/"), "/")
			at = filepath.Join(at, next)
			if err := makeReadable(at); err != nil {
				return err
			}
		}
		if err := os.WriteFile(target, f.data, 0o600); err != nil {
			return err
		}
		if f.seen != nil {
			if err := owners.Set(target, *f.seen); err != nil {
				return err
			}
		}
		// The umask may have removed bits of the mode.
		if err := os.Chmod(target, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// linkNames creates a link for the first element of each path, and removes the links of removed files.
func linkNames(dir string, files map[string]file) error {
	wanted := map[string]bool{}
	for name := range files {
		first, _, _ := strings.Cut(name, "/")
		wanted[first] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		to, _ := os.Readlink(filepath.Join(dir, e.Name()))
		if path.Dir(to) != dataLink {
			continue
		}
		if wanted[e.Name()] {
			delete(wanted, e.Name())
		} else if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	for name := range wanted {
		if err := symlink(path.Join(dataLink, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// symlink atomically creates or replaces a link.
func symlink(to, link string) error {
	temporary := link + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(to, temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, link); err != nil {
		return fmt.Errorf("replace a link of a volume: %w", err)
	}
	return nil
}

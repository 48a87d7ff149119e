package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// forOthers are the permission bits of everyone except a file's owner.
const forOthers fs.FileMode = 0o077

// KeepPrivate sets the umask of this process and its future children, so that only the owner has access to new files.
func KeepPrivate() { syscall.Umask(int(forOthers)) }

// claim ensures that only the user has access to the home's folder. It removes the read access of others. It returns an
// error for another user's folder, and for a home to which others may write, because they may have put programs into it.
func (h Home) claim() error {
	info, err := os.Stat(h.dir)
	if err != nil {
		return fmt.Errorf("open the home: %w", err)
	}
	if owner, user := int(info.Sys().(*syscall.Stat_t).Uid), os.Geteuid(); owner != user {
		return fmt.Errorf("open the home: %s belongs to the user %d, and you are the user %d: run strata as that user, or name another home in %s", h.dir, owner, user, Variable)
	}
	mode := info.Mode().Perm()
	if h.Exists() && mode&0o022 != 0 {
		return fmt.Errorf("open the home: other users may write to %s (mode %04o), and may have put programs into it: if you know that nobody has, run `chmod 700 %s`, otherwise name another home in %s",
			h.dir, mode, h.dir, Variable)
	}
	if mode&forOthers == 0 {
		return nil
	}
	if err := os.Chmod(h.dir, mode&^forOthers); err != nil {
		return fmt.Errorf("close the home to other users: %w", err)
	}
	return nil
}

// Tighten removes, once, the permissions of other users from all files of a home that a strata without KeepPrivate
// created. Only the supervisor calls it, before it starts any program: like Port, it writes home.json, which only one
// process may do.
func (h Home) Tighten() error {
	ports.Lock()
	defer ports.Unlock()
	f, err := h.read()
	if err != nil || f.Private {
		return err
	}
	err = filepath.WalkDir(h.dir, func(path string, entry fs.DirEntry, err error) error {
		// The target of a symbolic link may be outside the home.
		if err != nil || entry.Type() == fs.ModeSymlink {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || info.Mode().Perm()&forOthers == 0 {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^forOthers)
	})
	if err != nil {
		return fmt.Errorf("close the files of the home to other users: %w", err)
	}
	f.Private = true
	return h.write(f)
}

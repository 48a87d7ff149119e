package home_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// withUmask sets the umask for a test.
func withUmask(t *testing.T, umask int) {
	t.Helper()
	before := syscall.Umask(umask)
	t.Cleanup(func() { syscall.Umask(before) })
}

// openToOthers returns the folder and the files below it to which others have access.
func openToOthers(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type() == fs.ModeSymlink {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			found = append(found, path+" "+info.Mode().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOnlyTheOwnerCanAccessAHome(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077} {
		withUmask(t, umask)
		dir := filepath.Join(t.TempDir(), "home")
		if umask == 0 {
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		h := open(t, dir)
		if _, err := h.Secret("passphrase"); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Port("git"); err != nil {
			t.Fatal(err)
		}
		release, err := h.AcquireChange()
		if err != nil {
			t.Fatal(err)
		}
		release()
		if err := errors.Join(h.BeginDown("bootstrap"), h.KeepEnvironment("dev")); err != nil {
			t.Fatal(err)
		}
		if found := openToOthers(t, dir); len(found) > 0 {
			t.Errorf("under the umask %03o others have rights on %v", umask, found)
		}
	}
}

func TestAHomeThatOthersMayReadIsRestricted(t *testing.T) {
	for _, mode := range []os.FileMode{0o755, 0o750, 0o711, 0o705} {
		dir := t.TempDir()
		open(t, dir)
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		open(t, dir)
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("a home of mode %o is %v (%v), want mode 700", mode, info.Mode(), err)
		}
	}
}

func TestAHomeThatOthersMayHaveWrittenToIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702} {
		dir := t.TempDir()
		open(t, dir)
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, err := home.Open(dir)
		for _, want := range []string{dir, "other users may write", "chmod 700", "STRATA_HOME"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("for mode %o the error does not say %q: %v", mode, want, err)
			}
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != mode {
			t.Errorf("the refused home is %v (%v), was of mode %o", info.Mode(), err, mode)
		}
	}
}

func TestAnotherUsersHomeIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	made, empty := t.TempDir(), t.TempDir()
	open(t, made)
	for _, dir := range []string{made, empty} {
		if err := os.Chown(dir, 4711, 4711); err != nil {
			t.Fatal(err)
		}
		_, err := home.Open(dir)
		for _, want := range []string{dir, "user 4711", "user 0", "STRATA_HOME"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("the refused folder holds %v (%v)", left, err)
	}
}

func TestTheFilesOfAnOldHomeAreRestrictedOnce(t *testing.T) {
	withUmask(t, 0)
	dir := filepath.Join(t.TempDir(), "home")
	h := open(t, dir)
	// Older versions wrote this home.json, without the field private.
	if err := os.WriteFile(filepath.Join(dir, "home.json"), []byte(`{"version": 1, "ports": {"git": 15001}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	lax := filepath.Join(h.Git(), "web.git", "objects", "pack")
	err := errors.Join(os.WriteFile(outside, nil, 0o644), os.MkdirAll(lax, 0o755),
		os.WriteFile(filepath.Join(lax, "one.pack"), nil, 0o444), os.WriteFile(filepath.Join(h.Git(), "hook"), nil, 0o755),
		os.Symlink(outside, filepath.Join(h.Git(), "link")))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Tighten(); err != nil {
		t.Fatal(err)
	}
	if found := openToOthers(t, dir); len(found) > 0 {
		t.Errorf("others have rights on %v", found)
	}
	for path, want := range map[string]os.FileMode{outside: 0o644, filepath.Join(lax, "one.pack"): 0o400, filepath.Join(h.Git(), "hook"): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v (%v), want mode %o", path, info.Mode(), err, want)
		}
	}
	if port, err := h.Port("git"); err != nil || port != 15001 {
		t.Errorf("the port of git is %d (%v), was 15001", port, err)
	}
	// Tighten does not change a file whose mode the owner has changed later.
	if err := os.Chmod(filepath.Join(h.Git(), "hook"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := h.Tighten(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(h.Git(), "hook")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the second call changed the file to %v (%v)", info.Mode(), err)
	}
}

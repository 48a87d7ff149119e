package workdir

import (
	"os"
	"path/filepath"
	"testing"
)

// workPrefix is the prefix of the folders in the tests.
const workPrefix = "operator-"

func TestFolderThatAKilledProcessLeftIsTakenOver(t *testing.T) {
	parent := t.TempDir()
	take := func() (string, func()) {
		t.Helper()
		dir, release, err := Take(parent, workPrefix)
		if err != nil {
			t.Fatal(err)
		}
		return dir, release
	}
	first, releaseFirst := take()
	second, releaseSecond := take()
	if first == second {
		t.Errorf("%s is used by two", first)
	}
	releaseSecond()
	if _, err := os.Stat(second); err == nil {
		t.Error("a folder that was let go is still there")
	}

	// The kernel releases the lock of a killed process.
	left := filepath.Join(parent, workPrefix+"left")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	holder, err := hold(left)
	if err != nil {
		t.Fatal(err)
	}
	third, releaseThird := take()
	if third == left {
		t.Error("a folder that is held was taken")
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if fourth, _ := take(); fourth != left {
		t.Errorf("took %s, want %s, which was left", fourth, left)
	}
	releaseFirst()
	releaseThird()
}

func TestFolderThatOthersCouldHaveMadeIsNotTaken(t *testing.T) {
	parent := t.TempDir()
	elsewhere := t.TempDir()
	if err := os.Chmod(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(parent, workPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(parent, workPrefix+"open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	dir, release, err := Take(parent, workPrefix)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if name := filepath.Base(dir); name == workPrefix+"link" || name == workPrefix+"open" {
		t.Errorf("took %s", dir)
	}
}

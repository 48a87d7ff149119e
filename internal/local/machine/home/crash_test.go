package home_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

func TestAnUnfinishedHomeIsCompleted(t *testing.T) {
	dir := t.TempDir()
	// A power failure during the write of home.json leaves this file.
	half := filepath.Join(dir, ".home.json-1234567")
	if err := os.WriteFile(half, []byte(`{"vers`), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, dir)
	if _, err := h.Port("etcd"); err != nil {
		t.Error(err)
	}
	if err := h.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestConcurrentCallsCreateOneHome(t *testing.T) {
	for range 20 {
		dir := filepath.Join(t.TempDir(), "home")
		var told [8]int
		var group sync.WaitGroup
		for i := range told {
			group.Go(func() {
				h, err := home.Open(dir)
				if err == nil {
					told[i], err = h.Port("etcd")
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		kept, err := open(t, dir).Port("etcd")
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range told {
			if port != kept {
				t.Fatalf("the ports that were told are %v, the one that is kept is %d", told, kept)
			}
		}
	}
}

func TestADamagedSecretIsAnErrorThatNamesItsFile(t *testing.T) {
	h := open(t, t.TempDir())
	secret, err := h.Secret("passphrase")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.Dir(), "credentials", "passphrase")
	for _, content := range []string{"", secret[:4]} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := h.Secret("passphrase")
		if err == nil {
			t.Fatalf("the secret is %q", got)
		}
		for _, want := range []string{path, "from a backup"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
		}
		if strings.Contains(err.Error(), secret[:4]) {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}

func TestAHomeHasOnePathThroughSymbolicLinks(t *testing.T) {
	dir := t.TempDir()
	direct, link := filepath.Join(dir, "direct"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(direct, 0o700), os.Symlink(direct, link)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h, err := home.At(filepath.Join(link, "a", "home"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := filepath.EvalSymlinks(direct)
		if err != nil {
			t.Fatal(err)
		}
		if want = filepath.Join(want, "a", "home"); h.Dir() != want {
			t.Errorf("the home is %s, want %s", h.Dir(), want)
		}
		// The second call finds an existing home.
		open(t, h.Dir())
	}
}

func TestTheHolderOfTheLockIsKnown(t *testing.T) {
	h := open(t, t.TempDir())
	if pid := h.Holder(); pid != 0 {
		t.Errorf("nobody holds the lock, but the holder is %d", pid)
	}
	release, err := h.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if pid := h.Holder(); pid != os.Getpid() {
		t.Errorf("the holder is %d, want %d", pid, os.Getpid())
	}
}

func TestAReleasedLockHasNoHolder(t *testing.T) {
	h := open(t, t.TempDir())
	release, err := h.AcquireChange()
	if err != nil {
		t.Fatal(err)
	}
	if pid, _ := h.Changing(); pid != os.Getpid() {
		t.Errorf("while the lock is held %d is at work, want %d", pid, os.Getpid())
	}
	release()
	// The file still names this process, which is alive.
	if pid, command := h.Changing(); pid != 0 {
		t.Errorf("`%s` (pid %d) is said to be at work", command, pid)
	}
	if release, err = h.AcquireChange(); err != nil {
		t.Errorf("to look has kept the lock: %v", err)
	} else {
		release()
	}
}

func TestTheBorrowerOfTheLockIsItsHolder(t *testing.T) {
	h := open(t, t.TempDir())
	lock, err := h.Lend()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	home.LentTo(lock, 4194399)
	if pid := h.Holder(); pid != 4194399 {
		t.Errorf("the holder is %d, want who was lent the lock", pid)
	}
}

func TestTheLockWorksOnAFullDisk(t *testing.T) {
	h := open(t, t.TempDir())
	if err := os.Symlink("/dev/full", h.Lock()); err != nil {
		t.Fatal(err)
	}
	release, err := h.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	release()
}

package home_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

func open(t *testing.T, dir string) home.Home {
	t.Helper()
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestOpenCreatesAHomeForItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "home")
	h, err := home.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	if h.Exists() {
		t.Error("a home that nobody made exists")
	}
	if h = open(t, dir); !h.Exists() {
		t.Error("the home that was made does not exist")
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "home.json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v (%v), want mode %o", path, info, err, want)
		}
	}
}

func TestAHomeNamedByARelativePathIsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := open(t, "home").Dir(), filepath.Join(here, "home"); got != want {
		t.Errorf("the home is %s, want %s", got, want)
	}
}

func TestPortsStayOverOpen(t *testing.T) {
	dir := t.TempDir()
	ports := map[string]int{}
	names := map[int]string{}
	for _, name := range []string{"etcd", "google", "git"} {
		port, err := open(t, dir).Port(name)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := names[port]; taken {
			t.Errorf("%s and %s have the same port %d", name, other, port)
		}
		ports[name], names[port] = port, name
	}
	h := open(t, dir)
	for name, want := range ports {
		if got, err := h.Port(name); err != nil || got != want {
			t.Errorf("after another Open %s has port %d (%v), want %d", name, got, err, want)
		}
	}
}

func TestConcurrentPortRequestsAllStay(t *testing.T) {
	h := open(t, t.TempDir())
	var ports [8]int
	var group sync.WaitGroup
	for i := range ports {
		group.Go(func() {
			port, err := h.Port(fmt.Sprint("service-", i))
			if err != nil {
				t.Error(err)
			}
			ports[i] = port
		})
	}
	group.Wait()
	for i, want := range ports {
		if got, err := h.Port(fmt.Sprint("service-", i)); err != nil || got != want {
			t.Errorf("service-%d has port %d (%v), but was told %d", i, got, err, want)
		}
	}
}

func TestListenUsesTheKeptPort(t *testing.T) {
	h := open(t, t.TempDir())
	for range 2 {
		l, err := h.Listen("git")
		if err != nil {
			t.Fatal(err)
		}
		port, err := h.Port("git")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := l.Addr().String(), fmt.Sprintf("127.0.0.1:%d", port); got != want {
			t.Errorf("listens on %s, want %s", got, want)
		}
		l.Close()
	}
}

func TestATakenPortIsAnErrorThatNamesItsHolder(t *testing.T) {
	h := open(t, t.TempDir())
	port, err := h.Port("git")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = h.Listen("git")
	if err == nil {
		t.Fatal("a taken port is listened on")
	}
	for _, want := range []string{"git", fmt.Sprintf("port %d", port), fmt.Sprintf("pid %d", os.Getpid()), "end that program"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

func TestSecretStays(t *testing.T) {
	dir := t.TempDir()
	first, err := open(t, dir).Secret("passphrase")
	if err != nil {
		t.Fatal(err)
	}
	if len(first) < 20 {
		t.Errorf("the secret %q is too short", first)
	}
	if again, err := open(t, dir).Secret("passphrase"); err != nil || again != first {
		t.Errorf("the secret became %q (%v), was %q", again, err, first)
	}
	if other, err := open(t, dir).Secret("git"); err != nil || other == first {
		t.Errorf("another secret is %q (%v), the same as the first", other, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "credentials", "passphrase")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret's file is %v (%v), want mode 600", info, err)
	}
}

func TestWriteFileShowsTheOldContentOrTheNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "file")
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<20), bytes.Repeat([]byte("b"), 1<<10)}
	if err := home.WriteFile(path, contents[0]); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		for i := range 20 {
			if err := home.WriteFile(path, contents[i%2]); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for done := false; !done; {
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
			t.Fatalf("a reader saw %d bytes, neither the old content nor the new", len(got))
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v (%v), want mode 600", info, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the file there is %v (%v)", left, err)
	}
}

func TestAnUnusableHomeIsRefusedAndUntouched(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		says    []string
	}{
		"a later version": {`{"version": 2, "ports": {"etcd": 1}, "more": true}`, []string{"version 2", "version 1", "STRATA_HOME"}},
		"half a file":     {`{"version": 1, "por`, []string{"home.json is damaged", "start over"}},
		"an empty file":   {``, []string{"home.json is damaged", "start over"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "home.json")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := home.Open(filepath.Dir(path))
			if err == nil {
				t.Fatal("the home is opened")
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != test.content {
				t.Errorf("home.json became %q (%v)", got, err)
			}
		})
	}
}

func TestTwoAcquireExcludeEachOther(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, dir), open(t, dir)
	release, err := first.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Acquire(); !errors.Is(err, home.ErrLocked) {
		t.Errorf("the second Acquire says %v, want ErrLocked", err)
	}
	release()
	again, err := second.Acquire()
	if err != nil {
		t.Errorf("after the release Acquire says %v", err)
	}
	again()
}

func TestAForeignFolderIsNeitherMadeAHomeNorRemoved(t *testing.T) {
	for _, name := range []string{"thesis.txt", "git", ".git-credentials"} {
		t.Run(name, func(t *testing.T) { checkForeign(t, name) })
	}
}

func checkForeign(t *testing.T, name string) {
	dir := t.TempDir()
	thesis := filepath.Join(dir, name)
	if err := os.WriteFile(thesis, []byte("not Strata's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Open(dir); err == nil || !strings.Contains(err.Error(), "is neither empty nor a home") {
		t.Errorf("opening it gives %v", err)
	}
	h, err := home.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(); err != nil {
		t.Errorf("removing what is no home gives %v", err)
	}
	if _, err := os.Stat(thesis); err != nil {
		t.Error(err)
	}
}

func TestRemoveKeepsForeignFiles(t *testing.T) {
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Secret("passphrase"); err != nil {
		t.Fatal(err)
	}
	thesis := filepath.Join(h.Dir(), "thesis.txt")
	if err := os.WriteFile(thesis, []byte("not Strata's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(); err == nil || !strings.Contains(err.Error(), "it contains files that are not Strata's") {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(h.Dir())
	if err != nil || len(left) != 1 {
		t.Errorf("left is %v (%v)", left, err)
	}
	if err := os.Remove(thesis); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(h.Dir()); err != nil {
		t.Errorf("the folder is not empty: %v", err)
	}
}

func TestAHomeIsForOneEnvironment(t *testing.T) {
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prod", "", "prod"} {
		if err := h.KeepEnvironment(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := h.KeepEnvironment("dev"); err == nil || !strings.Contains(err.Error(), "use --env prod") {
		t.Errorf("another environment gives %v", err)
	}
	if h.Environment() != "prod" {
		t.Errorf("the home is for %q", h.Environment())
	}
}

func TestConcurrentCallsGetTheSameSecret(t *testing.T) {
	h := open(t, filepath.Join(t.TempDir(), "home"))
	secrets := make(chan string, 20)
	var group sync.WaitGroup
	for range cap(secrets) {
		group.Go(func() {
			secret, err := h.Secret("control")
			if err != nil {
				t.Error(err)
			}
			secrets <- secret
		})
	}
	group.Wait()
	first := <-secrets
	for range cap(secrets) - 1 {
		if other := <-secrets; other != first || other == "" {
			t.Fatalf("got %q and %q", first, other)
		}
	}
}

func TestTwoChangesExcludeEachOtherAndTheSecondNamesTheFirst(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, dir), open(t, dir)
	release, err := first.AcquireChange()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("`%s", filepath.Base(os.Args[0]))
	if _, err := second.AcquireChange(); !errors.Is(err, home.ErrLocked) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("(pid %d)", os.Getpid())) {
		t.Errorf("the second AcquireChange says %v, want ErrLocked, %s and pid %d", err, want, os.Getpid())
	}
	// A run of a layer is part of a change.
	releaseLayers, err := first.AcquireLayers()
	if err != nil {
		t.Fatal(err)
	}
	releaseLayers()
	release()
	again, err := second.AcquireChange()
	if err != nil {
		t.Fatalf("after the release AcquireChange says %v", err)
	}
	again()
}

func TestALockOfARemovedHomeDoesNotBlockTheNextHome(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	h := open(t, dir)
	release, err := h.AcquireChange()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := h.Remove(); err != nil {
		t.Fatal(err)
	}
	next, err := open(t, dir).AcquireChange()
	if err != nil {
		t.Fatalf("in the next home AcquireChange says %v", err)
	}
	next()
}

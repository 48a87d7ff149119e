package untrusted_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strata-platform/strata/operator/untrusted"
)

const limit = 1000

// folder is a folder that a run can write to, beside a file with a secret.
type folder struct {
	*testing.T
	*os.Root

	dir, secret string
}

func newFolder(t *testing.T) folder {
	t.Helper()
	beside := t.TempDir()
	f := folder{T: t, dir: filepath.Join(beside, "run"), secret: filepath.Join(beside, "secret")}
	f.must(os.Mkdir(f.dir, 0o700))
	f.must(os.WriteFile(f.secret, []byte("canary-4711"), 0o600))
	root, err := os.OpenRoot(f.dir)
	f.must(err)
	t.Cleanup(func() { root.Close() })
	f.Root = root
	return f
}

func (f folder) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

// inTime fails the test if a call does not return. The goroutine of the call is then
// stuck.
func inTime(t *testing.T, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it still waits after a minute")
	}
}

// attacks maps names to attacks that replace the file "x".
var attacks = map[string]struct {
	attack func(f folder)
	plain  bool
}{
	"a pipe":                  {attack: func(f folder) { f.must(syscall.Mkfifo(f.path("x"), 0o600)) }},
	"a folder":                {attack: func(f folder) { f.must(os.Mkdir(f.path("x"), 0o700)) }},
	"a link to a secret":      {attack: func(f folder) { f.must(os.Symlink(f.secret, f.path("x"))) }},
	"a relative link":         {attack: func(f folder) { f.must(os.Symlink("../secret", f.path("x"))) }},
	"a link by a link":        {attack: func(f folder) { f.must(os.Symlink("..", f.path("up"))); f.must(os.Symlink("up/secret", f.path("x"))) }},
	"a link to itself":        {attack: func(f folder) { f.must(os.Symlink("x", f.path("x"))) }},
	"the reader's variables":  {attack: func(f folder) { f.must(os.Symlink("/proc/self/environ", f.path("x"))) }},
	"the reader's descriptor": {attack: func(f folder) { f.must(os.Symlink("/proc/self/fd/0", f.path("x"))) }},
	"a device without end":    {attack: func(f folder) { f.must(os.Symlink("/dev/zero", f.path("x"))) }},
	"a large file":            {attack: func(f folder) { f.must(os.WriteFile(f.path("x"), make([]byte, limit+1), 0o600)) }},
	"a sparse file": {attack: func(f folder) {
		f.must(os.WriteFile(f.path("x"), nil, 0o600))
		f.must(os.Truncate(f.path("x"), 1<<40))
	}},
	"a socket": {attack: func(f folder) {
		listener, err := net.Listen("unix", f.path("x"))
		f.must(err)
		f.Cleanup(func() { listener.Close() })
	}},
	"a link within": {plain: true, attack: func(f folder) {
		f.must(os.WriteFile(f.path("y"), nil, 0o600))
		f.must(os.Symlink("y", f.path("x")))
	}},
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	for name, c := range attacks {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			c.attack(f)
			for kind, read := range map[string]func(*os.Root, string, int64) ([]byte, error){"Read": untrusted.Read, "ReadPlain": untrusted.ReadPlain} {
				inTime(t, func() {
					data, err := read(f.Root, "x", limit)
					if refused := err != nil; refused == (c.plain && kind == "Read") || len(data) != 0 {
						t.Errorf("%s returns %d bytes and error %v", kind, len(data), err)
					}
				})
			}
		})
	}
}

func TestDeviceIsNotRead(t *testing.T) {
	f := newFolder(t)
	const zero = 1<<8 | 5
	if err := syscall.Mknod(f.path("x"), syscall.S_IFCHR|0o600, zero); err != nil {
		t.Skip(err) // Only root can create devices.
	}
	if data, err := untrusted.Read(f.Root, "x", limit); err == nil {
		t.Errorf("read %d bytes of a device", len(data))
	}
}

func TestReadReportsAMissingFile(t *testing.T) {
	f := newFolder(t)
	f.must(os.WriteFile(f.path("x"), make([]byte, limit), 0o600))
	if data, err := untrusted.Read(f.Root, "x", limit); err != nil || len(data) != limit {
		t.Errorf("read %d bytes, error %v", len(data), err)
	}
	if _, err := untrusted.Read(f.Root, "y", limit); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v of a file that is missing", err)
	}
	if _, err := untrusted.ReadPlain(f.Root, "x", limit-1); !errors.Is(err, untrusted.ErrTooLarge) {
		t.Errorf("error %v of a file beyond the limit", err)
	}
}

func TestFileThatIsSwappedWhileItIsReadBlocksAndLeaksNothing(t *testing.T) {
	f := newFolder(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Remove(f.path("new")) // The file exists if a round was interrupted.
			switch n % 4 {
			case 0:
				_ = os.WriteFile(f.path("new"), []byte("own"), 0o600)
			case 1:
				_ = syscall.Mkfifo(f.path("new"), 0o600)
			case 2:
				_ = os.Symlink(f.secret, f.path("new"))
			case 3:
				_ = os.WriteFile(f.path("new"), make([]byte, 10*limit), 0o600)
			}
			_ = os.Rename(f.path("new"), f.path("x"))
		}
	}()
	inTime(t, func() {
		for range 5000 {
			data, err := untrusted.ReadPlain(f.Root, "x", limit)
			if err == nil && len(data) > 0 && string(data) != "own" {
				t.Errorf("read %q", data)
				return
			}
		}
	})
	close(stop)
	<-stopped
}

func TestWriteReplacesWhateverIsThere(t *testing.T) {
	for name, c := range attacks {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			c.attack(f)
			inTime(t, func() {
				err := untrusted.Write(f.Root, "x", []byte("content"))
				if name == "a folder" {
					if err == nil {
						t.Error("a folder was replaced")
					}
					return
				}
				if got, readErr := untrusted.ReadPlain(f.Root, "x", limit); err != nil || readErr != nil || string(got) != "content" {
					t.Errorf("the file holds %q, errors %v and %v", got, err, readErr)
				}
			})
			if got, err := os.ReadFile(f.secret); err != nil || string(got) != "canary-4711" {
				t.Errorf("the secret is %q (%v)", got, err)
			}
			made, err := filepath.Glob(f.path("x.*"))
			if err != nil || len(made) != 0 {
				t.Errorf("left %v (%v)", made, err)
			}
		})
	}
}

func TestWriteLeavesNoFolderByALink(t *testing.T) {
	f := newFolder(t)
	f.must(os.Symlink("..", f.path("up")))
	if err := untrusted.Write(f.Root, "up/x", nil); err == nil {
		t.Error("a file was written outside")
	}
}

func TestListAndWalkAreBounded(t *testing.T) {
	f := newFolder(t)
	f.must(os.MkdirAll(f.path("a/b/c/d"), 0o700))
	f.must(os.Symlink("..", f.path("a/up")))
	f.must(syscall.Mkfifo(f.path("a/pipe"), 0o600))
	for _, name := range []string{"1", "2", "3", "a/b/4", "a/b/c/d/5"} {
		f.must(os.WriteFile(f.path(name), nil, 0o600))
	}
	enter := func(string) bool { return true }
	inTime(t, func() {
		if entries, err := untrusted.List(f.Root, ".", 2); err != nil || len(entries) != 2 {
			t.Errorf("listed %v, error %v", entries, err)
		}
		if _, err := untrusted.List(f.Root, "a/pipe", 2); err == nil {
			t.Error("listed a pipe")
		}
		for _, c := range []struct {
			budget  untrusted.Budget
			stop    int
			want    int
			skipped string
		}{
			// A walk sees the five files, the link and the pipe.
			{untrusted.Budget{Entries: 100, Depth: 10}, 0, 7, ""},
			{untrusted.Budget{Entries: 100, Depth: 2}, 0, 6, "folder a/b/c is not read"},
			{untrusted.Budget{Entries: 100}, 0, 3, "folder a is not read"},
			{untrusted.Budget{Entries: 100, Depth: 10}, 2, 2, ""},
		} {
			seen := 0
			err := untrusted.Walk(f.Root, c.budget, enter, func(string) bool { seen++; return seen != c.stop })
			if seen != c.want {
				t.Errorf("walk of %+v sees %d files, want %d", c.budget, seen, c.want)
			}
			if (err != nil) != (c.skipped != "") || err != nil && !strings.Contains(err.Error(), c.skipped) {
				t.Errorf("walk of %+v returns %v, want %q", c.budget, err, c.skipped)
			}
		}
		seen := 0
		err := untrusted.Walk(f.Root, untrusted.Budget{Entries: 2, Depth: 10}, enter, func(string) bool { seen++; return true })
		if seen > 2 || err == nil || !strings.Contains(err.Error(), "more than 2 entries") {
			t.Errorf("a walk of two entries sees %d files (%v)", seen, err)
		}
	})
}

func TestPipeIsReadAfterItsNameChanges(t *testing.T) {
	f := newFolder(t)
	pipe, err := untrusted.NewPipe(f.dir)
	f.must(err)
	defer pipe.Close()
	writer, err := os.OpenFile(pipe.Path(), os.O_RDWR|os.O_APPEND|os.O_TRUNC, 0)
	f.must(err)
	f.must(os.Remove(pipe.Path()))
	f.must(os.Symlink(f.secret, pipe.Path()))
	_, err = writer.WriteString("events")
	f.must(err)
	pipe.Finish()
	inTime(t, func() {
		// The writer never closes its end, like a process that hides.
		var got strings.Builder
		buf := make([]byte, 4)
		for err == nil {
			var n int
			n, err = pipe.Read(buf)
			got.Write(buf[:n])
		}
		if got.String() != "events" || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %q, error %v", got.String(), err)
		}
	})
	f.must(writer.Close())
}

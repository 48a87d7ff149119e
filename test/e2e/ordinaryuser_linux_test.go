package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/long"
)

// ordinary is the ID of a user and a group that nothing else on the machine uses: all their files and processes are the test's.
const ordinary = 61873

// TestSandboxedPodsOfAnOrdinaryUser runs the scripts of TestSandboxedPods as a user without rights and without an entry in
// /etc/passwd, as in a container. Root can look for all that such a user has left on the machine.
func TestSandboxedPodsOfAnOrdinaryUser(t *testing.T) {
	long.Test(t)
	if os.Getuid() != 0 {
		t.Skip("this test drops root's rights, and the user is not root: TestSandboxedPods tests the same")
	}
	t.Parallel()
	build(t)
	ensureTools(t)
	dir, err := os.MkdirTemp("", "strata-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	u := user{dir}
	u.prepare(t)
	if out, err := u.command(t, "go", "version").CombinedOutput(); err != nil {
		t.Skipf("another user cannot run the machine's Go: %v: %s", err, out)
	}
	// With -v, the time of each step is in the log.
	out, err := u.command(t, u.path("e2e.test"), "-test.run=^TestSandboxedPods$", "-test.v", "-test.timeout=20m").CombinedOutput()
	if err != nil || strings.Contains(string(out), "--- SKIP") {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
	if left := u.left(); len(left) > 0 {
		t.Errorf("these belong to the user:\n%s", strings.Join(left, "\n"))
	}
}

// user has all that an ordinary user needs for the test in a folder: the repository, strata, the images, and a home with a cache.
type user struct{ dir string }

func (u user) path(names ...string) string {
	return filepath.Join(append([]string{u.dir}, names...)...)
}

// prepare makes the files of the user.
func (u user) prepare(t *testing.T) {
	t.Helper()
	if err := os.Chmod(u.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeImages(t, u.path("images.tar"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{self: "e2e.test", filepath.Join(strataDir, "strata"): "strata"} {
		if out, err := exec.CommandContext(t.Context(), "cp", from, u.path(to)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	u.linkTools(t)
	if err := cloneTo(u.path("repository")); err != nil {
		t.Fatal(err)
	}
	// The user cannot read the objects of a clone that shares them.
	git := exec.CommandContext(t.Context(), "git", "-C", u.path("repository"), "repack", "-a", "-d", "-q")
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Remove(u.path("repository", ".git", "objects", "info", "alternates")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(u.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	err = filepath.WalkDir(u.dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Dir(path) == u.path("cache", "strata", "tools") {
			return fs.SkipDir // A tool is a link to the file of root, whose owner must not change.
		}
		if err != nil {
			return err
		}
		return os.Lchown(path, ordinary, ordinary)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// linkTools puts the tools of this user into the cache of the other one: as links, because they have gigabytes.
func (u user) linkTools(t *testing.T) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(strataDir, "strata"), "toolchain", "list", "-o", "json")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var tools []toolchain.Status
	if err := json.Unmarshal(out, &tools); err != nil {
		t.Fatal(err)
	}
	cache := u.path("cache", "strata", "tools")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		from := filepath.Dir(tool.Path)
		to := filepath.Join(cache, filepath.Base(from))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		if exec.CommandContext(t.Context(), "cp", "-al", from, to).Run() == nil {
			continue
		}
		// The cache is on another file system.
		_ = os.RemoveAll(to)
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// command returns a command that runs as the user.
func (u user) command(t *testing.T, name string, args ...string) *exec.Cmd {
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, args...)
	command.Dir = u.path("repository", "test", "e2e")
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + u.path("home"), "TMPDIR=" + u.path("tmp"), "XDG_CACHE_HOME=" + u.path("cache"), "GOTOOLCHAIN=local",
		commandVariable + "=" + u.path("strata"), imagesVariable + "=" + u.path("images.tar"),
	}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	return command
}

// left returns the processes of the user, except zombies, and the files in the folders that all users may write to. The user's own
// folder for temporary files must be empty.
func (u user) left() []string {
	var left []string
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range processes {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(path), "%d", &pid); err != nil || owner(path) != ordinary {
			continue
		}
		if _, _, alive := statOf(pid); alive {
			line, _ := os.ReadFile(filepath.Join(path, "cmdline"))
			left = append(left, "process "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	for _, folder := range []string{"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/sys/fs/cgroup", os.TempDir()} {
		_ = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			switch {
			case path == u.dir:
				return fs.SkipDir
			case err != nil: // It is gone.
			case owner(path) == ordinary:
				left = append(left, path)
			}
			return nil
		})
	}
	files, _ := os.ReadDir(u.path("tmp"))
	for _, file := range files {
		left = append(left, u.path("tmp", file.Name()))
	}
	return left
}

// owner returns the user of a file, or -1 without the file.
func owner(path string) int {
	var stat syscall.Stat_t
	if syscall.Lstat(path, &stat) != nil {
		return -1
	}
	return int(stat.Uid)
}

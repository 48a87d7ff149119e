package helper

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// volumeAndSecret returns a volume with the file a/b/inside, and a folder beside it with the file b/secret.
func volumeAndSecret(t *testing.T) (volume, outside string) {
	t.Helper()
	dir := t.TempDir()
	volume, outside = filepath.Join(dir, "volume"), filepath.Join(dir, "outside")
	for _, file := range []string{filepath.Join(volume, "a", "b", "inside"), filepath.Join(outside, "b", "secret")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return volume, outside
}

// resolve opens a sub path as pin does, and returns the path of what it has opened.
func resolve(t *testing.T, volume, path string) (string, error) {
	t.Helper()
	top, err := unix.Open(volume, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(top)
	fd, err := beneath(top, path, unix.O_PATH, 0)
	if errors.Is(err, unix.ENOENT) {
		fd, err = makeBeneath(top, path, false)
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
}

func TestASubPathStaysInItsVolume(t *testing.T) {
	volume, outside := volumeAndSecret(t)
	for name, target := range map[string]string{
		"absolute": outside, "upwards": "../outside", "process": "/proc/self/root", "hanging": "nowhere", "within": "a/b", "through": "a/../../outside/b",
	} {
		if err := os.Symlink(target, filepath.Join(volume, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct{ path, want string }{
		"a folder":                                  {"a/b", "a/b"},
		"a file":                                    {"a/b/inside", "a/b/inside"},
		"a link within the volume":                  {"within", "a/b"},
		"a missing folder is created":               {"new/deep", "new/deep"},
		"a missing folder behind a link within":     {"within/new", ""},
		"a link to an absolute path":                {"absolute", ""},
		"a link to an absolute path on the way":     {"absolute/b", ""},
		"a missing folder behind an absolute link":  {"absolute/new", ""},
		"a link upwards":                            {"upwards/b", ""},
		"a missing folder behind a link upwards":    {"upwards/new", ""},
		"a link that goes up in the middle":         {"through", ""},
		"the root of the machine by /proc":          {"process/etc", ""},
		"a link to nothing creates nothing":         {"hanging", ""},
		"a path that goes up and that no pod sends": {"../outside", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := resolve(t, volume, test.path)
			if test.want == "" && err == nil {
				t.Errorf("it opens %s, want an error", got)
			}
			if want := filepath.Join(volume, test.want); test.want != "" && got != want {
				t.Errorf("it opens %s, %v, want %s", got, err, want)
			}
		})
	}
	for _, path := range []string{filepath.Join(outside, "new"), filepath.Join(volume, "nowhere")} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was created", path)
		}
	}
}

// A container swaps a folder of the path with a link to a folder of the machine, as fast as it can.
func TestASubPathStaysInItsVolumeDuringSwaps(t *testing.T) {
	for _, target := range []string{"absolute", "upwards"} {
		volume, outside := volumeAndSecret(t)
		link := filepath.Join(volume, "link")
		if target == "upwards" {
			outside = "../outside"
		}
		if err := os.Symlink(outside, link); err != nil {
			t.Fatal(err)
		}
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					_ = unix.Renameat2(unix.AT_FDCWD, link, unix.AT_FDCWD, filepath.Join(volume, "a"), unix.RENAME_EXCHANGE)
				}
			}
		}()
		opened, failed := 0, 0
		for round := 0; round < 20000 || opened == 0 || failed == 0; round++ {
			path := "a/b"
			if round%2 == 1 {
				path = "a/new" + strconv.Itoa(round)
			}
			got, err := resolve(t, volume, path)
			switch {
			case err != nil:
				failed++
			case strings.HasPrefix(got, volume+"/"):
				opened++
			default:
				t.Fatalf("round %d opens %s", round, got)
			}
		}
		close(stop)
		<-done
		entries, err := os.ReadDir(filepath.Join(filepath.Dir(volume), "outside"))
		if err != nil || len(entries) != 1 {
			t.Errorf("outside of the volume: %v, %v", entries, err)
		}
	}
}

package owners

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// folder returns a new folder that keeps records.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := Supported(dir); err != nil {
		t.Skip(err)
	}
	return dir
}

func want(t *testing.T, path string, want Record) {
	t.Helper()
	if got, err := Of(path); err != nil || got != want {
		t.Errorf("the record of %s is %v, %v, want %v", path, got, err, want)
	}
}

func TestSetChangesTheRecordAndNothingElse(t *testing.T) {
	path := filepath.Join(folder(t), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, path, Record{Mode: 0o600})
	set := Record{UID: 999, GID: 998, Mode: 0o4755}
	if err := Set(path, set); err != nil {
		t.Fatal(err)
	}
	want(t, path, set)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	dir := folder(t)
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := Set(link, Record{UID: 999}); !errors.Is(err, unix.ELOOP) {
		t.Errorf("Set: %v", err)
	}
	if _, err := Of(link); !errors.Is(err, unix.ELOOP) {
		t.Errorf("Of: %v", err)
	}
	want(t, target, Record{Mode: 0o600})
}

func TestABrokenRecordIsAnError(t *testing.T) {
	path := filepath.Join(folder(t), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"root", "999:999:0644 and more than the longest record"} {
		if err := unix.Setxattr(path, Attribute, []byte(text), 0); err != nil {
			t.Fatal(err)
		}
		if r, err := Of(path); err == nil {
			t.Errorf("%q is the record %v", text, r)
		}
	}
}

func TestSetRefusesAModeWithATypeInIt(t *testing.T) {
	if err := Set(folder(t), Record{Mode: unix.S_IFDIR | 0o755}); err == nil {
		t.Error("no error")
	}
}

func TestSupportedLeavesNothingBehind(t *testing.T) {
	dir := folder(t)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := Supported(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestAFileSystemWithoutAttributesIsUnsupported(t *testing.T) {
	err := write(os.NewFile(uintptr(openPath(t, "/proc/self/status")), "/proc/self/status"), Record{})
	if !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v, want %v", err, ErrUnsupported)
	}
}

func openPath(t *testing.T, path string) int {
	t.Helper()
	descriptor, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return descriptor
}

func TestApplyGroupReachesEverythingInTheVolumeAndNothingOutside(t *testing.T) {
	dir := folder(t)
	outside := filepath.Join(folder(t), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, "a", "b", "c")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Set(filepath.Join(deep, "file"), Record{UID: 999, GID: 999, Mode: 0o640}); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": outside, "folder": filepath.Dir(outside)} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ApplyGroup(dir, 2000); err != nil {
			t.Fatal(err)
		}
		want(t, filepath.Join(dir, "a"), Record{GID: 2000, Mode: 0o2770})
		want(t, deep, Record{GID: 2000, Mode: 0o2770})
		want(t, filepath.Join(deep, "file"), Record{UID: 999, GID: 2000, Mode: 0o660})
		want(t, outside, Record{Mode: 0o600})
	}
}

func TestApplyGroupStopsInAVolumeThatIsTooDeep(t *testing.T) {
	dir := folder(t)
	if err := os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", deepest)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ApplyGroup(dir, 2000); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, strings.Repeat("d/", deepest), "last"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ApplyGroup(dir, 2000); err == nil || !strings.Contains(err.Error(), "nested deeper than 200 folders") {
		t.Errorf("one level more: %v", err)
	}
}

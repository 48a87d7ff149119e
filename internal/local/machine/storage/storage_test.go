package storage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const name = "pvc-01234567-89ab-cdef-0123-456789abcdef"

func TestAVolumeIsFoundByItsNamespaceOnly(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "volumes"))
	claim := Claim{Namespace: "team-web", Name: "data"}
	if err := f.Create(name, claim); err != nil {
		t.Fatal(err)
	}
	path, err := f.Find(name, "team-web")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Create(name, claim); err != nil {
		t.Errorf("create it again: %v", err)
	}
	if _, err := os.Stat(filepath.Join(path, "file")); err != nil {
		t.Errorf("a second creation lost the file: %v", err)
	}
	if err := f.Create(name, Claim{Namespace: "team-shop"}); err == nil || !strings.Contains(err.Error(), "belongs to namespace team-web") {
		t.Errorf("another namespace creates it: %v", err)
	}
	if found, err := f.Find(name, "team-shop"); err == nil || strings.Contains(err.Error(), "team-web") {
		t.Errorf("another namespace finds %s, %v, want an error without the namespace", found, err)
	}
	if err := f.Remove(name); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(string(f)); err != nil || len(left) > 0 {
		t.Errorf("left after the removal: %v, %v", left, err)
	}
	if _, err := f.Find(name, "team-web"); err == nil || !strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("a removed volume: %v", err)
	}
	if err := f.Remove(name); err != nil {
		t.Errorf("remove it again: %v", err)
	}
}

func TestNamesThatLeadElsewhereAreRejected(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := Folder(filepath.Join(dir, "volumes"))
	for _, name := range []string{"", ".", "..", "../kept", "pvc-..", name + "/..", "/etc", "pvc-x"} {
		if err := f.Create(name, Claim{}); err == nil {
			t.Errorf("volume %q was created", name)
		}
		if _, err := f.Find(name, ""); err == nil {
			t.Errorf("volume %q was found", name)
		}
		if err := f.Remove(name); err == nil {
			t.Errorf("volume %q was removed", name)
		}
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

func TestALinkInPlaceOfTheFilesIsRejected(t *testing.T) {
	f := Folder(t.TempDir())
	if err := f.Create(name, Claim{Namespace: "n"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.Path(name)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", f.Path(name)); err != nil {
		t.Fatal(err)
	}
	if path, err := f.Find(name, "n"); err == nil {
		t.Errorf("it finds %s", path)
	}
}

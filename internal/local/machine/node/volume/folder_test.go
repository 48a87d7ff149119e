package volume

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/node/volume/volumetest"
)

// content maps the paths that a program can open in a volume to their contents.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	found, err := volumetest.Content(dir)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func write(t *testing.T, dir string, files map[string]file) {
	t.Helper()
	if err := writeFolder(dir, files); err != nil {
		t.Fatal(err)
	}
}

func TestAVolumeHasTheLastWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "volume")
	for _, step := range []struct {
		name  string
		files map[string]file
		want  map[string]string
	}{
		{"files appear", map[string]file{"a": {data: []byte("1"), mode: 0o644}, "sub/b": {data: []byte("2"), mode: 0o400}}, map[string]string{"a": "1 644", "sub/b": "2 400"}},
		{"a file changes", map[string]file{"a": {data: []byte("3"), mode: 0o644}, "sub/b": {data: []byte("2"), mode: 0o400}}, map[string]string{"a": "3 644", "sub/b": "2 400"}},
		{"a mode changes", map[string]file{"a": {data: []byte("3"), mode: 0o600}, "sub/b": {data: []byte("2"), mode: 0o400}}, map[string]string{"a": "3 600", "sub/b": "2 400"}},
		{"a file goes, another comes", map[string]file{"sub/b": {data: []byte("2"), mode: 0o400}, "sub/c": {data: nil, mode: 0o666}}, map[string]string{"sub/b": "2 400", "sub/c": " 666"}},
		{"a folder goes", map[string]file{"a": {data: []byte("4"), mode: 0o644}}, map[string]string{"a": "4 644"}},
		{"all go", nil, map[string]string{}},
	} {
		write(t, dir, step.files)
		if got := content(t, dir); fmt.Sprint(got) != fmt.Sprint(step.want) {
			t.Errorf("%s: the volume holds %v, want %v", step.name, got, step.want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("earlier contents stay behind: %v", entries)
	}
}

func TestAnUnchangedVolumeIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	files := map[string]file{"a": {data: []byte("1"), mode: 0o644}}
	write(t, dir, files)
	before, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "of-the-program"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files)
	if after, _ := os.Readlink(filepath.Join(dir, dataLink)); after != before {
		t.Errorf("the content was written again: %s, before %s", after, before)
	}
	if got, want := content(t, dir), map[string]string{"a": "1 644", "of-the-program": "x 600"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the volume holds %v, want %v", got, want)
	}
}

// A program that reads two files through dataLink's folder gets both from the same write.
func TestAVolumeChangesAllAtOnce(t *testing.T) {
	dir := t.TempDir()
	both := func(i int) map[string]file {
		raw := fmt.Append(nil, i)
		return map[string]file{"cert": {data: raw, mode: 0o644}, "key": {data: raw, mode: 0o600}}
	}
	write(t, dir, both(0))
	done := make(chan error)
	go func() {
		var err error
		for i := 1; i <= 200 && err == nil; i++ {
			err = writeFolder(dir, both(i))
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
		folder, err := os.Readlink(filepath.Join(dir, dataLink))
		if err != nil {
			t.Fatal(err)
		}
		cert, err := os.ReadFile(filepath.Join(dir, folder, "cert"))
		if err != nil {
			continue // The link has changed meanwhile and the folder is gone. A program would try again.
		}
		if key, err := os.ReadFile(filepath.Join(dir, folder, "key")); err == nil && string(key) != string(cert) {
			t.Fatalf("the key of %s beside the certificate of %s", key, cert)
		}
		if _, err := os.ReadFile(filepath.Join(dir, "cert")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

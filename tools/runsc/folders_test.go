package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/abi/linux"
	"gvisor.dev/gvisor/pkg/context"
	"gvisor.dev/gvisor/pkg/lisafs"
)

func TestPathsEndAtLinksAndMissingNames(t *testing.T) {
	v, ctx := newVolume(t), context.Background()
	if err := os.MkdirAll(filepath.Join(v.dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(v.dir, "a", "out")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path []string
		want int
	}{
		"all names exist":              {[]string{"a", "b"}, 2},
		"the first is the folder":      {[]string{"", "a", "b"}, 3},
		"a name is missing":            {[]string{"a", "c", "d"}, 1},
		"a link leads out":             {[]string{"a", "out", "etc"}, 2},
		"only the folder":              {[]string{""}, 1},
		"the missing name is the last": {[]string{"a", "b", "c"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			stats, err := v.root.WalkStat(ctx, c.path)
			if err != nil || len(stats) != c.want {
				t.Errorf("%d results, %v, want %d", len(stats), err, c.want)
			}
		})
	}
	for _, path := range []string{"..", "a/b", "."} {
		if _, err := v.root.Walk(ctx, path); err == nil {
			t.Errorf("a client can walk to %q", path)
		}
	}
}

func TestAFolderListsAllNames(t *testing.T) {
	v, ctx := newVolume(t), context.Background()
	var want []string
	for i := range 3000 {
		name := fmt.Sprintf("a file with a long name, number %04d", i)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(v.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened, _, err := v.root.OpenAt(ctx, unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	folder := v.client.NewFD(opened)
	defer folder.Close(ctx, false)
	for range 2 {
		var names []string
		for count := int32(-65536); ; count = 65536 { // a negative count begins again
			entries, err := folder.Getdents64(ctx, count)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) == 0 {
				break
			}
			for _, entry := range entries {
				names = append(names, string(entry.Name))
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, want) {
			t.Fatalf("the folder has %d names, want %d", len(names), len(want))
		}
	}
}

func TestAReadOnlyVolumeChangesNothing(t *testing.T) {
	dir := newVolume(t).dir
	v, ctx := serveVolume(t, dir, true), context.Background()
	if _, err := v.root.MkdirAt(ctx, "folder", 0o755, 0, 0); !errors.Is(err, unix.EROFS) {
		t.Errorf("mkdir: %v", err)
	}
	if err := set(v.root, linux.Statx{Mask: unix.STATX_UID, UID: 999}); !errors.Is(err, unix.EROFS) {
		t.Errorf("chown: %v", err)
	}
}

func TestAVolumeCanBeASingleFile(t *testing.T) {
	path := filepath.Join(newVolume(t).dir, "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	v, ctx := serveVolume(t, path, false), context.Background()
	if err := set(v.root, linux.Statx{Mask: unix.STATX_UID, UID: 999}); err != nil {
		t.Fatal(err)
	}
	opened, donated, err := v.root.OpenAt(ctx, unix.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(donated)
	file, text := v.client.NewFD(opened), make([]byte, 4)
	if n, err := file.Read(ctx, text, 0); err != nil || string(text[:n]) != "text" {
		t.Errorf("read %q, %v", text[:n], err)
	}
	if n, err := file.Write(ctx, []byte("next"), 4); err != nil || n != 4 {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
	if err := v.client.SyncFDs(ctx, []lisafs.FDID{opened}); err != nil {
		t.Error(err)
	}
	file.Close(ctx, false)
}

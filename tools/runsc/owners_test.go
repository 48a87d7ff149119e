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

func TestNewFilesBelongToTheirCreatorInTheContainerAndToNobodyElseHere(t *testing.T) {
	v, ctx := newVolume(t), context.Background()
	v.create("file", 0o644, 999, 998)
	v.want("file", record{999, 998, 0o644})
	v.wantHost("file", hostFile)
	if _, err := v.root.MkdirAt(ctx, "folder", 0o2755, 999, 998); err != nil {
		t.Fatal(err)
	}
	v.want("folder", record{999, 998, 0o2755})
	v.wantHost("folder", hostFolder)
	if _, err := v.root.MknodAt(ctx, "node", linux.ModeRegular|0o640, 1000, 1001, 0, 0); err != nil {
		t.Fatal(err)
	}
	v.want("node", record{1000, 1001, 0o640})
	v.wantHost("node", hostFile)
	if _, err := v.root.SymlinkAt(ctx, "link", "file", 999, 998); err != nil {
		t.Fatal(err)
	}
	v.want("link", record{0, 0, 0o777})
	link := v.walk("link")
	if target, err := link.ReadLinkAt(ctx); err != nil || target != "file" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
}

func TestAFolderWithTheSetgidBitGivesItsGroupToNodes(t *testing.T) {
	v := newVolume(t)
	if _, err := set(v.root, linux.Statx{Mask: unix.STATX_MODE | unix.STATX_GID, Mode: 0o2775, GID: 998}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.root.MknodAt(context.Background(), "node", linux.ModeRegular|0o640, 1000, 1001, 0, 0); err != nil {
		t.Fatal(err)
	}
	v.want("node", record{1000, 998, 0o640})
}

func TestAChangeOfAttributesChangesOnlyThese(t *testing.T) {
	for name, c := range map[string]struct {
		change linux.Statx
		want   record
	}{
		"the owner":               {linux.Statx{Mask: unix.STATX_UID, UID: 5, GID: 6, Mode: 7}, record{5, 998, 0o644}},
		"the group":               {linux.Statx{Mask: unix.STATX_GID, UID: 5, GID: 6, Mode: 7}, record{999, 6, 0o644}},
		"the mode":                {linux.Statx{Mask: unix.STATX_MODE, UID: 5, GID: 6, Mode: 0o7}, record{999, 998, 0o7}},
		"setuid, setgid, sticky":  {linux.Statx{Mask: unix.STATX_MODE, Mode: 0o7755}, record{999, 998, 0o7755}},
		"the type has no effect":  {linux.Statx{Mask: unix.STATX_MODE, Mode: unix.S_IFDIR | 0o600}, record{999, 998, 0o600}},
		"the highest IDs":         {linux.Statx{Mask: unix.STATX_UID | unix.STATX_GID, UID: 1<<32 - 2, GID: 1<<32 - 2}, record{1<<32 - 2, 1<<32 - 2, 0o644}},
		"no ID, which keeps both": {linux.Statx{Mask: unix.STATX_UID | unix.STATX_GID, UID: 1<<32 - 1, GID: 1<<32 - 1}, record{999, 998, 0o644}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolume(t)
			if failed, err := set(v.create("file", 0o644, 999, 998), c.change); err != nil || failed != 0 {
				t.Fatalf("failed: %#x, %v", failed, err)
			}
			v.want("file", c.want)
			v.wantHost("file", hostFile)
		})
	}
}

func TestSizeAndTimesChangeOnTheHost(t *testing.T) {
	v := newVolume(t)
	file := v.create("file", 0, 999, 999)
	change := linux.Statx{Mask: unix.STATX_SIZE | unix.STATX_MTIME | unix.STATX_MODE, Size: 3, Mtime: linux.StatxTimestamp{Sec: 1000}, Mode: 0o400}
	if failed, err := set(file, change); err != nil || failed != 0 {
		t.Fatalf("failed: %#x, %v", failed, err)
	}
	info, err := os.Stat(filepath.Join(v.dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != 3 || info.ModTime().Unix() != 1000 {
		t.Errorf("the file has %d bytes and the time %v", info.Size(), info.ModTime())
	}
	v.want("file", record{999, 999, 0o400})
}

func TestLinksHaveNoOwnersOfTheirOwn(t *testing.T) {
	v := newVolume(t)
	if _, err := v.root.SymlinkAt(context.Background(), "link", "nowhere", 999, 999); err != nil {
		t.Fatal(err)
	}
	link := v.walk("link")
	if failed, err := set(link, linux.Statx{Mask: unix.STATX_UID | unix.STATX_GID, UID: 5, GID: 6}); err != nil || failed != 0 {
		t.Errorf("a change of the owner failed: %#x, %v", failed, err)
	}
	if failed, err := set(link, linux.Statx{Mask: unix.STATX_MODE, Mode: 0o600}); !errors.Is(err, unix.EOPNOTSUPP) || failed != unix.STATX_MODE {
		t.Errorf("a change of the mode returns %#x, %v", failed, err)
	}
	if failed, err := set(link, linux.Statx{Mask: unix.STATX_MTIME, Mtime: linux.StatxTimestamp{Sec: 1000}}); err != nil || failed != 0 {
		t.Errorf("a change of the time failed: %#x, %v", failed, err)
	}
	v.want("link", record{0, 0, 0o777})
}

func TestFilesOfThisMachineBelongToRoot(t *testing.T) {
	v := newVolume(t)
	if err := os.WriteFile(filepath.Join(v.dir, "file"), nil, 0o640); err != nil {
		t.Fatal(err)
	}
	v.want("file", record{0, 0, 0o640})
	if _, err := set(v.walk("file"), linux.Statx{Mask: unix.STATX_UID, UID: 999}); err != nil {
		t.Fatal(err)
	}
	v.want("file", record{999, 0, 0o640})
}

func TestABrokenRecordGivesTheFileToNobody(t *testing.T) {
	for _, text := range []string{"", "999:999", "999:999:0888", "999:999:17777", "0999:999:0644", "999:999:0644 and more than any record"} {
		t.Run(text, func(t *testing.T) {
			v := newVolume(t)
			v.create("file", 0o644, 999, 998)
			if err := unix.Setxattr(filepath.Join(v.dir, "file"), attribute, []byte(text), 0); err != nil {
				t.Fatal(err)
			}
			if _, err := v.root.Walk(context.Background(), "file"); !errors.Is(err, unix.EIO) {
				t.Errorf("walk: %v, want %v", err, unix.EIO)
			}
		})
	}
}

func TestNamesOfOneFileShareItsRecord(t *testing.T) {
	v, ctx := newVolume(t), context.Background()
	file := v.create("file", 0o644, 999, 998)
	if _, err := v.root.LinkAt(ctx, file.ID(), "second"); err != nil {
		t.Fatal(err)
	}
	if _, err := set(v.walk("second"), linux.Statx{Mask: unix.STATX_UID, UID: 5}); err != nil {
		t.Fatal(err)
	}
	v.want("file", record{5, 998, 0o644})
	if err := v.root.RenameAt(ctx, "file", v.root.ID(), "third"); err != nil {
		t.Fatal(err)
	}
	v.want("third", record{5, 998, 0o644})
	if err := v.root.UnlinkAt(ctx, "third", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := v.root.Walk(ctx, "third"); !errors.Is(err, unix.ENOENT) {
		t.Errorf("walk to a removed name: %v", err)
	}
}

func TestWhatARecordCannotDescribeIsRefused(t *testing.T) {
	v, ctx := newVolume(t), context.Background()
	for _, mode := range []linux.FileMode{linux.ModeCharacterDevice, linux.ModeBlockDevice, linux.ModeNamedPipe, linux.ModeSocket} {
		if _, err := v.root.MknodAt(ctx, "node", mode|0o666, 0, 0, 1, 3); !errors.Is(err, unix.EPERM) {
			t.Errorf("mknod of mode %#o: %v, want %v", mode, err, unix.EPERM)
		}
	}
	if err := unix.Mkfifo(filepath.Join(v.dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	pipe := v.walk("pipe")
	if _, _, err := pipe.OpenAt(ctx, unix.O_RDONLY); !errors.Is(err, unix.EPERM) {
		t.Errorf("open a pipe of this machine: %v, want %v", err, unix.EPERM)
	}
	file := v.create("file", 0o644, 999, 998)
	if _, err := file.GetXattr(ctx, attribute, 100); err == nil {
		t.Error("a container can read records")
	}
	if err := file.SetXattr(ctx, attribute, "0:0:4755", 0); err == nil {
		t.Error("a container can write records")
	}
}

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
	if _, err := set(v.root, linux.Statx{Mask: unix.STATX_UID, UID: 999}); !errors.Is(err, unix.EROFS) {
		t.Errorf("chown: %v", err)
	}
}

func TestAVolumeCanBeASingleFile(t *testing.T) {
	path := filepath.Join(newVolume(t).dir, "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	v, ctx := serveVolume(t, path, false), context.Background()
	if _, err := set(v.root, linux.Statx{Mask: unix.STATX_UID, UID: 999}); err != nil {
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

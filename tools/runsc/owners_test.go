package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/abi/linux"
	"gvisor.dev/gvisor/pkg/context"
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
	if err := set(v.root, linux.Statx{Mask: unix.STATX_MODE | unix.STATX_GID, Mode: 0o2775, GID: 998}); err != nil {
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
			if err := set(v.create("file", 0o644, 999, 998), c.change); err != nil {
				t.Fatal(err)
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
	if err := set(file, change); err != nil {
		t.Fatal(err)
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
	if err := set(link, linux.Statx{Mask: unix.STATX_UID | unix.STATX_GID, UID: 5, GID: 6}); err != nil {
		t.Errorf("a change of the owner: %v", err)
	}
	if err := set(link, linux.Statx{Mask: unix.STATX_MODE, Mode: 0o600}); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("a change of the mode: %v, want %v", err, unix.EOPNOTSUPP)
	}
	if err := set(link, linux.Statx{Mask: unix.STATX_MTIME, Mtime: linux.StatxTimestamp{Sec: 1000}}); err != nil {
		t.Errorf("a change of the time: %v", err)
	}
	v.want("link", record{0, 0, 0o777})
	if _, err := v.root.LinkAt(context.Background(), link.ID(), "second"); err != nil {
		t.Fatal(err)
	}
	second := v.walk("second")
	if target, err := second.ReadLinkAt(context.Background()); err != nil || target != "nowhere" {
		t.Errorf("the second name of the link leads to %q, %v", target, err)
	}
}

func TestFilesOfThisMachineBelongToRoot(t *testing.T) {
	v := newVolume(t)
	if err := os.WriteFile(filepath.Join(v.dir, "file"), nil, 0o640); err != nil {
		t.Fatal(err)
	}
	v.want("file", record{0, 0, 0o640})
	if err := set(v.walk("file"), linux.Statx{Mask: unix.STATX_UID, UID: 999}); err != nil {
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
	if err := set(v.walk("second"), linux.Statx{Mask: unix.STATX_UID, UID: 5}); err != nil {
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
	if err := set(pipe, linux.Statx{Mask: unix.STATX_MODE, Mode: 0o600}); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("change the mode of a pipe of this machine: %v, want %v", err, unix.EOPNOTSUPP)
	}
	file := v.create("file", 0o644, 999, 998)
	if _, err := file.GetXattr(ctx, attribute, 100); err == nil {
		t.Error("a container can read records")
	}
	if err := file.SetXattr(ctx, attribute, "0:0:4755", 0); err == nil {
		t.Error("a container can write records")
	}
}

package erofs_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	reader "github.com/erofs/go-erofs"

	"github.com/strata-platform/strata/internal/local/machine/images/erofs"
)

// image writes a tree and opens it with another implementation of EROFS.
func image(t *testing.T, build func(w *erofs.Writer) *erofs.Node) (fs.FS, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	w, err := erofs.NewWriter(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(build(w), []byte("a label of sixteen bytes and more")); err != nil {
		t.Fatal(err)
	}
	opened, err := reader.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	return opened, path
}

func regular(t *testing.T, w *erofs.Writer, content string) *erofs.Node {
	t.Helper()
	data, err := w.Write(strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return &erofs.Node{Mode: erofs.Regular | 0o644, Data: data}
}

func TestFilesKeepTheirContentOwnerModeAndTime(t *testing.T) {
	modified := time.Unix(1700000000, 123456789)
	contents := map[string]string{
		"empty": "", "byte": "x", "block": strings.Repeat("b", 4096), "more": strings.Repeat("m", 4097), "large": strings.Repeat("large", 1<<18),
	}
	opened, _ := image(t, func(w *erofs.Writer) *erofs.Node {
		root := erofs.NewDirectory(0o755)
		for name, content := range contents {
			node := regular(t, w, content)
			node.Mode, node.UID, node.GID, node.Modified = erofs.Regular|0o751, 70000, 33, modified
			root.Children[name] = node
		}
		return root
	})
	for name, want := range contents {
		got, err := fs.ReadFile(opened, name)
		if err != nil || string(got) != want {
			t.Errorf("%s has %d bytes (%v), want %d", name, len(got), err, len(want))
		}
		info, err := fs.Stat(opened, name)
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*reader.Stat)
		if stat.UID != 70000 || stat.GID != 33 || !info.ModTime().Equal(modified) || info.Mode().Perm() != 0o751 {
			t.Errorf("%s: owner %d:%d, time %s, mode %s", name, stat.UID, stat.GID, info.ModTime(), info.Mode())
		}
	}
}

// TestDataBeginsOnABlock reads the inodes without a library, because a mapping of inline data kills a process in gVisor. It
// also checks the setuid bit, which the library does not show.
func TestDataBeginsOnABlockAndModesAreComplete(t *testing.T) {
	const block, inode = 4096, 64
	_, path := image(t, func(w *erofs.Writer) *erofs.Node {
		root := erofs.NewDirectory(0o755)
		for i := range 100 {
			node := regular(t, w, strings.Repeat("d", i))
			node.Mode = erofs.Regular | 0o4755
			root.Children[fmt.Sprintf("file-%03d", i)] = node
		}
		return root
	})
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	little := binary.LittleEndian
	meta := int(little.Uint32(content[1024+40:])) * block
	found := 0
	for at := meta; at+inode <= len(content); at += 32 {
		if format, mode := little.Uint16(content[at:]), little.Uint16(content[at+4:]); format&1 == 0 || mode != erofs.Regular|0o4755 {
			continue
		}
		found++
		size, start := int(little.Uint64(content[at+8:])), int(little.Uint32(content[at+16:]))*block
		if layout := little.Uint16(content[at:]) >> 1; layout != 0 {
			t.Errorf("a file of %d bytes has the layout %d, want plain", size, layout)
		}
		if got := content[start : start+size]; string(got) != strings.Repeat("d", size) {
			t.Errorf("block %d does not contain the file of %d bytes", start/block, size)
		}
		if xattrs := little.Uint16(content[at+2:]); xattrs != 0 {
			t.Errorf("a file has extended attributes, which gVisor rejects")
		}
	}
	if found != 100 {
		t.Errorf("%d inodes found, want 100", found)
	}
}

func TestFoldersOfEverySizeListTheirEntries(t *testing.T) {
	for _, count := range []int{0, 1, 60, 200, 5000} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			opened, _ := image(t, func(w *erofs.Writer) *erofs.Node {
				root, folder := erofs.NewDirectory(0o755), erofs.NewDirectory(0o1777)
				root.Children["folder"] = folder
				for i := range count {
					name := fmt.Sprintf("%s-%d", strings.Repeat("n", i%240), i)
					folder.Children[name] = regular(t, w, name)
				}
				return root
			})
			entries, err := fs.ReadDir(opened, "folder")
			if err != nil || len(entries) != count {
				t.Fatalf("the folder has %d entries (%v), want %d", len(entries), err, count)
			}
			for _, entry := range entries {
				if got, err := fs.ReadFile(opened, "folder/"+entry.Name()); err != nil || string(got) != entry.Name() {
					t.Fatalf("%s contains %q (%v)", entry.Name(), got, err)
				}
			}
			if info, err := fs.Stat(opened, "folder"); err != nil || info.Mode().Perm() != 0o777 {
				t.Errorf("the folder has the mode %s (%v)", info.Mode(), err)
			}
		})
	}
}

func TestLinksAndFifosAreWritten(t *testing.T) {
	long := strings.Repeat("/long", 800)
	opened, _ := image(t, func(w *erofs.Writer) *erofs.Node {
		root, folder := erofs.NewDirectory(0o755), erofs.NewDirectory(0o755)
		one := regular(t, w, "one")
		root.Children["one"], root.Children["folder"], folder.Children["two"] = one, folder, one
		root.Children["short"] = &erofs.Node{Mode: erofs.Symlink | 0o777, Target: "folder/two"}
		root.Children["long"] = &erofs.Node{Mode: erofs.Symlink | 0o777, Target: long}
		root.Children["fifo"] = &erofs.Node{Mode: erofs.Fifo | 0o600}
		return root
	})
	for name, want := range map[string]string{"short": "folder/two", "long": long} {
		if got, err := fs.ReadLink(opened, name); err != nil || got != want {
			t.Errorf("%s points to %q (%v)", name, got, err)
		}
	}
	inode := func(name string) *reader.Stat {
		info, err := fs.Lstat(opened, name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*reader.Stat)
	}
	if one, two := inode("one"), inode("folder/two"); one.Ino != two.Ino || one.Nlink != 2 {
		t.Errorf("the hard links have the inodes %d and %d with %d links", one.Ino, two.Ino, one.Nlink)
	}
	if info, err := fs.Lstat(opened, "fifo"); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("the FIFO has the mode %s (%v)", info.Mode(), err)
	}
	if root := inode("."); root.Nlink != 3 {
		t.Errorf("the root has %d links, want 3", root.Nlink)
	}
}

func TestTheSameTreeResultsInTheSameImage(t *testing.T) {
	var images [2][]byte
	for i := range images {
		_, path := image(t, func(*erofs.Writer) *erofs.Node {
			root := erofs.NewDirectory(0o755)
			for j := range 50 {
				root.Children[fmt.Sprint(j)] = &erofs.Node{Mode: erofs.Symlink, Target: fmt.Sprint(j)}
			}
			return root
		})
		images[i], _ = os.ReadFile(path)
	}
	if !bytes.Equal(images[0], images[1]) || len(images[0]) == 0 {
		t.Error("the images differ")
	}
}

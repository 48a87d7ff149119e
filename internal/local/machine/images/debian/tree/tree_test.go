package tree_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/images/debian/tree"
)

func opened(t *testing.T) *tree.Tree {
	t.Helper()
	x, err := tree.New(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func file(name string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}
}
func dir(name string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}
}
func link(name, target string) *tar.Header {
	return &tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink, Mode: 0o777}
}

// add adds entries, whose content is their name.
func add(t *testing.T, x *tree.Tree, headers ...*tar.Header) {
	t.Helper()
	for _, h := range headers {
		if err := x.Add(h, strings.NewReader(h.Name)); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, x *tree.Tree) map[string]tar.Header {
	t.Helper()
	var b bytes.Buffer
	if err := x.WriteTar(&b); err != nil {
		t.Fatal(err)
	}
	found := map[string]tar.Header{}
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name] = *h
	}
}

func TestFilesFollowLinksInsideTheTree(t *testing.T) {
	x := opened(t)
	add(t, x, link("lib", "usr/lib"), link("out", "../../../../etc"), link("absolute", "/etc"), dir("usr/lib"), dir("lib/"), file("lib/a"), file("out/b"), file("absolute/c"))
	found := names(t, x)
	for _, name := range []string{"usr/lib/a", "etc/b", "etc/c"} {
		if _, exists := found[name]; !exists {
			t.Errorf("%s is missing in %v", name, found)
		}
	}
	if found["lib"].Typeflag != tar.TypeSymlink {
		t.Error("a folder replaced a link to a folder")
	}
}

func TestAHostileEntryIsRefused(t *testing.T) {
	for name, header := range map[string]*tar.Header{
		"a name that leads out":         file("../a"),
		"a device":                      {Name: "a", Typeflag: tar.TypeBlock},
		"a hard link to nothing":        {Name: "a", Typeflag: tar.TypeLink, Linkname: "b"},
		"a hard link to a folder":       {Name: "a", Typeflag: tar.TypeLink, Linkname: "folder"},
		"a link without a target":       link("a", ""),
		"a path through a loop":         file("loop/a"),
		"a path through a file":         file("package/a"),
		"a root that is a file":         file("/"),
		"a file of another package":     file("package"),
		"a folder in place of a file":   dir("package"),
		"more bytes than the limit has": file(strings.Repeat("x", 2000)),
	} {
		x := opened(t)
		x.Owner = "one"
		add(t, x, dir("folder"), link("loop", "loop"), file("package"))
		x.Owner = "other"
		if err := x.Add(header, strings.NewReader(header.Name)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestATarHasOwnersModesAndHardLinks(t *testing.T) {
	x := opened(t)
	add(t, x, &tar.Header{Name: "b/su", Typeflag: tar.TypeReg, Mode: 0o4755, Uid: 3, Gid: 4, ModTime: time.Unix(77, 0)},
		&tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "b/su"})
	found := names(t, x)
	if h := found["a"]; h.Mode != 0o4755 || h.Uid != 3 || h.Gid != 4 || !h.ModTime.Equal(time.Unix(77, 0)) {
		t.Errorf("the file is %+v", h)
	}
	if h := found["b/su"]; h.Typeflag != tar.TypeLink || h.Linkname != "a" {
		t.Errorf("the second name is %+v", h)
	}
}

func TestACopyHasNoLinks(t *testing.T) {
	x := opened(t)
	add(t, x, file("shared/file"), link("from/link", "../shared/file"), link("from/broken", "/nothing"), file("from/own"))
	if err := x.Copy("from", "to"); err != nil {
		t.Fatal(err)
	}
	found := names(t, x)
	if _, exists := found["to/broken"]; exists || found["to/link"].Typeflag != tar.TypeReg && found["to/link"].Typeflag != tar.TypeLink {
		t.Errorf("the copy is %v", found)
	}
	if content, err := x.Read("to/link"); err != nil || content != "shared/file" {
		t.Errorf("the copied link is %q: %v", content, err)
	}
	add(t, x, link("from/loop", "."))
	if err := x.Copy("from", "again"); err == nil {
		t.Error("a link to its own folder was copied")
	}
}

func TestAFolderHasTheFilesAndNoSetuidBits(t *testing.T) {
	x := opened(t)
	add(t, x, link("etc", filepath.Join(t.TempDir(), "outside")), file("etc/a"), &tar.Header{Name: "su", Typeflag: tar.TypeReg, Mode: 0o4755})
	path := filepath.Join(t.TempDir(), "root")
	if err := x.WriteFolder(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(filepath.Join(path, "su")); err != nil || info.Mode() != 0o755 {
		t.Errorf("su is %v: %v", info, err)
	}
}

func TestRemoveNeedsAMatch(t *testing.T) {
	x := opened(t)
	add(t, x, file("doc/a"), file("doc/b"), file("keep"))
	if err := x.Remove("/doc/*"); err != nil {
		t.Fatal(err)
	}
	if found := names(t, x); len(found) != 2 {
		t.Errorf("what remains is %v", found)
	}
	if err := x.Remove("/doc/*"); err == nil {
		t.Error("a pattern without a match was accepted")
	}
}

package unpack_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	reader "github.com/erofs/go-erofs"
	"github.com/klauspost/compress/zstd"

	"github.com/strata-platform/strata/internal/local/machine/images/erofs"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/unpack"
)

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), Linkname: content}
}
func folder(name string) tar.Header {
	return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}
}
func symlink(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}
func hardlink(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target}
}

type layer []tar.Header

// archive returns a layer as a tar stream. A file's content is in Linkname.
func (l layer) archive(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, header := range l {
		content := ""
		if header.Typeflag == tar.TypeReg {
			content, header.Linkname = header.Linkname, ""
		}
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpacked unpacks streams into an image.
func unpacked(t testing.TB, limits unpack.Limits, streams ...[]byte) (fs.FS, unpack.Contents, error) {
	t.Helper()
	return unpackedThen(t, limits, func(*unpack.Image) {}, streams...)
}

// unpackedThen unpacks streams into an image, and calls then before the image is closed.
func unpackedThen(t testing.TB, limits unpack.Limits, then func(*unpack.Image), streams ...[]byte) (fs.FS, unpack.Contents, error) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "image"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	w, err := erofs.NewWriter(file)
	if err != nil {
		t.Fatal(err)
	}
	image := unpack.New(w, limits)
	for _, stream := range streams {
		if err := image.Layer(context.Background(), bytes.NewReader(stream), ""); err != nil {
			return nil, unpack.Contents{}, err
		}
	}
	then(image)
	contents, err := image.Close(nil)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := reader.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	return opened, contents, nil
}

// listing returns the tree: "path=content", "path/", "path>target".
func listing(t testing.TB, image fs.FS) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(image, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		switch entry.Type() {
		case fs.ModeDir:
			found = append(found, path+"/")
		case fs.ModeSymlink:
			target, err := fs.ReadLink(image, path)
			found = append(found, path+">"+target)
			return err
		case 0:
			content, err := fs.ReadFile(image, path)
			found = append(found, path+"="+string(content))
			return err
		default:
			found = append(found, path+"|")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestLayersResultInTheTreeOfTheSpecification(t *testing.T) {
	long := strings.Repeat("long/", 40) + strings.Repeat("n", 255)
	for name, c := range map[string]struct {
		layers []layer
		want   string
	}{
		"a later layer replaces a file":             {[]layer{{file("a", "1")}, {file("a", "2")}}, "a=2"},
		"the last duplicate in a layer wins":        {[]layer{{file("a", "1"), file("a", "2")}}, "a=2"},
		"a folder stays when it is described again": {[]layer{{folder("d/"), file("d/a", "1")}, {folder("d")}}, "d/ d/a=1"},
		"a file replaces a folder":                  {[]layer{{folder("d"), file("d/a", "1")}, {file("d", "2")}}, "d=2"},
		"a folder replaces a symbolic link":         {[]layer{{symlink("d", "e"), folder("e")}, {folder("d")}}, "d/ e/"},
		"missing parents are created":               {[]layer{{file("a/b/c", "1")}}, "a/ a/b/ a/b/c=1"},
		"names may begin with a slash or a dot":     {[]layer{{file("/a", "1"), file("./b", "2"), folder("./")}}, "a=1 b=2"},
		"a whiteout deletes a file":                 {[]layer{{file("d/a", "1"), file("d/b", "2")}, {file("d/.wh.a", "")}}, "d/ d/b=2"},
		"a whiteout deletes a folder":               {[]layer{{file("d/a", "1")}, {file(".wh.d", "")}}, ""},
		"a whiteout spares its own layer": {[]layer{{file("d/a", "1"), file("d/b", "2")}, {file("d/a", "3"), file(".wh.d", ""), file("d/.wh.a", "")}},
			"d/ d/a=3"},
		"a whiteout of nothing is no error":              {[]layer{{file("x/y/.wh.z", ""), file(".wh.none", "")}}, ""},
		"a whiteout deletes a link and not its target":   {[]layer{{file("a", "1"), symlink("l", "a")}, {file(".wh.l", "")}}, "a=1"},
		"an opaque folder loses earlier entries":         {[]layer{{file("d/a", "1"), file("d/e/f", "2")}, {file("d/b", "3"), file("d/.wh..wh..opq", "")}}, "d/ d/b=3"},
		"AUFS's own files are ignored":                   {[]layer{{folder(".wh..wh.plnk"), file(".wh..wh.aufs", "")}}, ""},
		"a symbolic link in a parent is followed":        {[]layer{{folder("usr/bin"), symlink("bin", "usr/bin")}, {file("bin/a", "1")}}, "bin>usr/bin usr/ usr/bin/ usr/bin/a=1"},
		"an absolute link in a parent stays in the root": {[]layer{{symlink("l", "/etc")}, {file("l/a", "1")}}, "etc/ etc/a=1 l>/etc"},
		"a link above the root stays in the root":        {[]layer{{symlink("d/l", "../../../../tmp")}, {file("d/l/a", "1")}}, "d/ d/l>../../../../tmp tmp/ tmp/a=1"},
		"a hard link has the content of its target":      {[]layer{{file("a", "1"), hardlink("d/b", "a")}}, "a=1 d/ d/b=1"},
		"a hard link to an earlier layer":                {[]layer{{file("a", "1")}, {hardlink("b", "/a"), file(".wh.a", "")}}, "b=1"},
		"a replaced hard link leaves the other name":     {[]layer{{file("a", "1"), hardlink("b", "a")}, {file("a", "2")}}, "a=2 b=1"},
		"devices are dropped":                            {[]layer{{{Typeflag: tar.TypeChar, Name: "dev/null", Devmajor: 1, Devminor: 3}, {Typeflag: tar.TypeBlock, Name: "sda"}}}, ""},
		"FIFOs are kept":                                 {[]layer{{{Typeflag: tar.TypeFifo, Name: "f"}}}, "f|"},
		"long names of PAX are complete":                 {[]layer{{{Typeflag: tar.TypeSymlink, Name: long, Linkname: strings.Repeat("t", 300), Format: tar.FormatPAX}, file(".wh.long", "")}}, "LONG"},
	} {
		t.Run(name, func(t *testing.T) {
			var streams [][]byte
			for _, l := range c.layers {
				streams = append(streams, l.archive(t))
			}
			image, _, err := unpacked(t, unpack.Limits{Bytes: 1 << 30, Entries: 1000}, streams...)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "LONG" {
				if got, err := fs.ReadLink(image, long); err != nil || len(got) != 300 {
					t.Errorf("the link points to %d bytes (%v)", len(got), err)
				}
				return
			}
			if got := strings.Join(listing(t, image), " "); got != c.want {
				t.Errorf("the tree is %q, want %q", got, c.want)
			}
		})
	}
}

func compress(t testing.TB, stream []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(stream); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCompressedLayersAreDetectedAndTheirDigestIsChecked(t *testing.T) {
	plain := layer{file("a", strings.Repeat("content", 100000))}.archive(t)
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	diffID := fmt.Sprintf("sha256:%x", sha256.Sum256(plain))
	for name, stream := range map[string][]byte{"plain": plain, "gzip": compress(t, plain), "zstd": encoder.EncodeAll(plain, nil)} {
		for want, id := range map[fault.Kind]string{"": diffID, fault.Corrupt: "sha256:" + strings.Repeat("0", 64)} {
			file, err := os.OpenFile(filepath.Join(t.TempDir(), "image"), os.O_CREATE|os.O_RDWR, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			w, err := erofs.NewWriter(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := unpack.New(w, unpack.Limits{}).Layer(t.Context(), bytes.NewReader(stream), id); fault.Of(err) != want || (err == nil) != (want == "") {
				t.Errorf("%s with digest %s: %v", name, id, err)
			}
		}
	}
}

func TestContentsDescribeTheImage(t *testing.T) {
	capability := func(name, value string) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, PAXRecords: map[string]string{
			"SCHILY.xattr.security.capability": value, "SCHILY.xattr.user.other": "x"}, Format: tar.FormatPAX}
	}
	_, contents, err := unpacked(t, unpack.Limits{},
		layer{file("etc/group", "old"), symlink("etc/passwd", "../usr/lib/passwd"), file("usr/lib/passwd", "root:x:0:0"), capability("bin/ping", "\x01\x00cap"), capability("bin/gone", "x")}.archive(t),
		layer{file("etc/group", "new"), file("bin/.wh.gone", ""), {Typeflag: tar.TypeChar, Name: "dev/tty"}}.archive(t))
	if err != nil {
		t.Fatal(err)
	}
	if string(contents.Passwd) != "root:x:0:0" || string(contents.Group) != "new" {
		t.Errorf("passwd is %q and group is %q", contents.Passwd, contents.Group)
	}
	if len(contents.Capabilities) != 1 || string(contents.Capabilities["/bin/ping"]) != "\x01\x00cap" {
		t.Errorf("the capabilities are %q", contents.Capabilities)
	}
	if contents.Devices != 1 || contents.Attributes != 2 || contents.Entries != 8 || contents.Bytes == 0 {
		t.Errorf("the contents are %+v", contents)
	}
}

// FuzzLayer checks that no layer makes the conversion panic, and that another implementation can list every result.
func FuzzLayer(f *testing.F) {
	f.Add(layer{file("d/a", "1"), symlink("l", "d"), hardlink("l/b", "d/a"), folder("e")}.archive(f))
	f.Add(layer{file("d/a", "1"), file("d/.wh..wh..opq", ""), file(".wh.d", "")}.archive(f))
	f.Add(compress(f, layer{symlink("l", "/../x/./y"), file("l/.wh.z", ""), file("l/z", "")}.archive(f)))
	f.Fuzz(func(t *testing.T, stream []byte) {
		image, _, err := unpacked(t, unpack.Limits{Bytes: 1 << 20, Entries: 100}, layer{file("d/b", "0")}.archive(t), stream)
		if err == nil {
			listing(t, image)
		}
	})
}

func TestMountPointsAreAddedWhereTheyCanBe(t *testing.T) {
	const account = " var/ var/run/ var/run/secrets/ var/run/secrets/kubernetes.io/ var/run/secrets/kubernetes.io/serviceaccount/"
	for name, c := range map[string]struct {
		layer layer
		want  string
	}{
		"to an empty image":              {nil, "dev/ etc/ etc/hostname= etc/hosts= etc/resolv.conf= etc/strata/ etc/strata/emulated-google-cloud.pem= proc/ sys/ tmp/" + account},
		"existing files stay":            {layer{file("etc/hosts", "1")}, "dev/ etc/ etc/hostname= etc/hosts=1 etc/resolv.conf= etc/strata/ etc/strata/emulated-google-cloud.pem= proc/ sys/ tmp/" + account},
		"a link stays":                   {layer{symlink("etc/resolv.conf", "/run/x"), file("var", "1")}, "dev/ etc/ etc/hostname= etc/hosts= etc/resolv.conf>/run/x etc/strata/ etc/strata/emulated-google-cloud.pem= proc/ sys/ tmp/ var=1"},
		"a link to a folder is followed": {layer{symlink("var", "../../v"), file("etc", "1")}, "dev/ etc=1 proc/ sys/ tmp/ v/ v/run/ v/run/secrets/ v/run/secrets/kubernetes.io/ v/run/secrets/kubernetes.io/serviceaccount/ var>../../v"},
		"a loop of links has no effect":  {layer{symlink("var", "var"), symlink("etc", "etc")}, "dev/ etc>etc proc/ sys/ tmp/ var>var"},
	} {
		t.Run(name, func(t *testing.T) {
			image, _, err := unpackedThen(t, unpack.Limits{}, (*unpack.Image).AddMountPoints, c.layer.archive(t))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(listing(t, image), " "); got != c.want {
				t.Errorf("the tree is %q, want %q", got, c.want)
			}
		})
	}
}

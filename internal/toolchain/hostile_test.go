package toolchain

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/strata-platform/strata/internal/toolchain/prebuilt"
)

// An entry is an entry of a bundle.
type entry struct {
	header  tar.Header
	content string
}

// unpack returns the entries of a bundle.
func unpack(t *testing.T, file string) []entry {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decompressed, err := zstd.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	defer decompressed.Close()
	var list []entry
	for archive := tar.NewReader(decompressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{*header, string(text)})
	}
}

// pack writes entries as a bundle. It sets their sizes.
func pack(t *testing.T, list []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	for _, e := range list {
		e.header.Size = int64(len(e.content))
		if _, err := archive.Write(nil); err != nil {
			t.Fatal(err)
		}
		if err := archive.WriteHeader(&e.header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// refuse fails the test unless the fetch of a bundle fails with one line that contains the parts, and changes nothing.
func refuse(t *testing.T, root, source, digest string, parts ...string) {
	t.Helper()
	outside := t.TempDir()
	cache := filepath.Join(outside, "cache")
	fetched, err := fetch(t, openBundled(t, root, cache), source, digest)
	if len(fetched) > 0 {
		t.Errorf("%v were fetched", fetched)
	}
	checkError(t, err, append(parts, "fetch the tools from "+source+": ")...)
	left := slices.DeleteFunc(entries(t, cache), func(name string) bool { return strings.HasSuffix(name, ".lock") })
	if len(left) > 0 || len(entries(t, outside)) != 1 {
		t.Errorf("the cache contains %v, and the folder above it %v", left, entries(t, outside))
	}
}

// TestHostileArchivesAreRefused changes the archive of a bundle whose digest the reader trusts.
func TestHostileArchivesAreRefused(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	root := tinyRoot(t)
	file, _, digest := aBundle(t, root)
	for name, test := range map[string]struct {
		change func([]entry) []entry
		says   string
	}{
		"a changed manifest": {func(e []entry) []entry { e[0].content += "\n"; return e }, "its manifest has the SHA-256 digest "},
		"a changed tool":     {func(e []entry) []entry { e[1].content = strings.ToUpper(e[1].content); return e }, "it has the SHA-256 digest "},
		"a longer tool":      {func(e []entry) []entry { e[1].content += "x"; return e }, "where its manifest lists blobs/"},
		"a huge tool":        {func(e []entry) []entry { e[1].content = strings.Repeat("x", 64<<20); return e }, "(67108864 bytes) where its manifest lists"},
		"a huge manifest":    {func(e []entry) []entry { e[0].content = strings.Repeat(" ", 2<<20); return e }, "it does not begin with manifest.json"},
		"a missing tool":     {func(e []entry) []entry { return e[:len(e)-1] }, "it ends too early"},
		"one tool twice":     {func(e []entry) []entry { return append(e, e[1]) }, "which its manifest does not list"},
		"another file":       {func(e []entry) []entry { return append(e, entry{tar.Header{Name: "more", Mode: 0o644}, "x"}) }, `it contains "more", which`},
		"no entries":         {func([]entry) []entry { return nil }, "it ends too early"},
		"tools before the manifest": {func(e []entry) []entry {
			slices.Reverse(e)
			return e
		}, "it does not begin with manifest.json"},
		"a path above the cache": {func(e []entry) []entry { e[1].header.Name = "../../evil"; return e }, `it contains "../../evil"`},
		"an absolute path":       {func(e []entry) []entry { e[1].header.Name = "/tmp/evil"; return e }, `it contains "/tmp/evil"`},
		"a symbolic link": {func(e []entry) []entry {
			e[1].header.Typeflag, e[1].header.Linkname, e[1].content = tar.TypeSymlink, "/etc/passwd", ""
			return e
		}, "(0 bytes) where its manifest lists"},
		"a hard link": {func(e []entry) []entry {
			e[1].header.Typeflag, e[1].header.Linkname, e[1].content = tar.TypeLink, "/etc/passwd", ""
			return e
		}, "(0 bytes) where its manifest lists"},
		"a device": {func(e []entry) []entry { e[1].header.Typeflag, e[1].content = tar.TypeChar, ""; return e }, "where its manifest lists"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := filepath.Join(t.TempDir(), "tools"+prebuilt.Extension)
			write(t, changed, string(pack(t, test.change(unpack(t, file)))))
			refuse(t, root, changed, digest, test.says)
		})
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	root := tinyRoot(t)
	file, _, digest := aBundle(t, root)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ content, says string }{
		"cut in the middle":    {string(content[:len(content)/2]), "it ends too early"},
		"cut at the beginning": {string(content[:2]), "it ends too early"},
		"empty":                {"", "it ends too early"},
		"a web page":           {"<html>log in first</html>", "it is damaged, or not a bundle of `make release`"},
		"a changed byte":       {string(content[:100]) + string(content[100]^1) + string(content[101:]), ""},
	} {
		t.Run(name, func(t *testing.T) {
			changed := filepath.Join(t.TempDir(), "tools"+prebuilt.Extension)
			write(t, changed, test.content)
			refuse(t, root, changed, digest, test.says)
		})
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ source, says string }{
		"a pipe":                       {pipe, "is not a regular file"},
		"a device without end":         {"/dev/zero", "is not a regular file"},
		"a folder without a bundle":    {t.TempDir(), "tools.tar.zst: no such file"},
		"nothing":                      {"/nowhere", "no such file"},
		"a server of another protocol": {"ftp://example.com/tools.tar.zst", "it is neither an http or https URL, nor a file or folder"},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, root, test.source, digest, test.says) })
	}
}

// TestHostileManifestsAreRefused changes the manifest, and passes its digest: the user trusts the wrong digest.
func TestHostileManifestsAreRefused(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	root := tinyRoot(t)
	file, m, _ := aBundle(t, root)
	for name, test := range map[string]struct {
		change func(*prebuilt.Manifest)
		says   string
	}{
		"a format of the future": {func(m *prebuilt.Manifest) { m.Format = "strata-bundle-9" }, `its format is "strata-bundle-9"`},
		"another platform":       {func(m *prebuilt.Manifest) { m.Platform = "plan9/mips" }, "its tools are for plan9/mips, not for "},
		"tools of other pins": {func(m *prebuilt.Manifest) {
			m.Groups[0].Folder, m.Groups[0].Tools[0].Version = "tiny-0123456789abcdef", "v1.2.2"
		}, "its tools have other pins than this strata (hello v1.2.2, "},
		"a missing group":         {func(m *prebuilt.Manifest) { m.Groups = m.Groups[:1] }, "it does not contain other v1.2.3"},
		"a missing tool":          {func(m *prebuilt.Manifest) { m.Groups[1].Files = nil }, "it does not contain other"},
		"a tool that cannot run":  {func(m *prebuilt.Manifest) { m.Groups[1].Files[0].Executable = false }, "it does not contain other"},
		"a path above the folder": {func(m *prebuilt.Manifest) { m.Groups[0].Files[1].Path = "hello/../../../evil" }, "is not the path of a tool"},
		"a tool above the folder": {func(m *prebuilt.Manifest) {
			m.Groups[0].Tools[0].Name, m.Groups[0].Files[1].Path = "..", "../evil"
		}, "is not the path of a tool"},
		"an absolute path":        {func(m *prebuilt.Manifest) { m.Groups[0].Files[1].Path = "/tmp/evil" }, "is not the path of a tool"},
		"a path with backslashes": {func(m *prebuilt.Manifest) { m.Groups[0].Files[1].Path = `hello\..\evil` }, "is not the path of a tool"},
		"a path twice":            {func(m *prebuilt.Manifest) { m.Groups[0].Files[1] = m.Groups[0].Files[0] }, "or the manifest contains it twice"},
		"a file below a program": {func(m *prebuilt.Manifest) {
			m.Groups[0].Files = append(m.Groups[0].Files, prebuilt.File{Path: "hello/below", SHA256: m.Groups[0].Files[0].SHA256, Size: m.Groups[0].Files[0].Size})
		}, ""},
		"a folder above the cache":   {func(m *prebuilt.Manifest) { m.Groups[0].Folder = "../evil" }, "is not the name of a folder"},
		"a folder twice":             {func(m *prebuilt.Manifest) { m.Groups[1].Folder = m.Groups[0].Folder }, "or the manifest contains it twice"},
		"a digest that is a path":    {func(m *prebuilt.Manifest) { m.Groups[0].Files[0].SHA256 = "../evil" }, "has no valid digest or size"},
		"a negative size":            {func(m *prebuilt.Manifest) { m.Groups[0].Files[0].Size = -1 }, "has no valid digest or size"},
		"files of ten gigabytes":     {func(m *prebuilt.Manifest) { m.Groups[0].Files[0].Size = 10 << 30 }, "has no valid digest or size"},
		"files that are huge in all": {func(m *prebuilt.Manifest) { m.Groups[0].Files[0].Size, m.Groups[1].Files[0].Size = 5<<30, 5<<30 }, "the files are too large"},
	} {
		t.Run(name, func(t *testing.T) {
			var changed prebuilt.Manifest
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &changed); err != nil {
				t.Fatal(err)
			}
			test.change(&changed)
			text, digest, err := changed.Encode()
			if err != nil {
				t.Fatal(err)
			}
			list := unpack(t, file)
			list[0].content = string(text)
			source := filepath.Join(t.TempDir(), "tools"+prebuilt.Extension)
			write(t, source, string(pack(t, list)))
			refuse(t, root, source, digest, test.says)
		})
	}
	for _, digest := range []string{"", "abc", strings.Repeat("g", 64)} {
		refuse(t, root, file, digest, "a SHA-256 digest has 64 digits")
	}
}

// TestABombIsRefused fetches a small file that a decompressor would turn into gigabytes, or that needs gigabytes of memory.
func TestABombIsRefused(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	root := tinyRoot(t)
	_, _, digest := aBundle(t, root)
	source := filepath.Join(t.TempDir(), "tools"+prebuilt.Extension)
	file, err := os.Create(source)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := zstd.NewWriter(file, zstd.WithWindowSize(512<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	if err := archive.WriteHeader(&tar.Header{Name: "manifest.json", Size: 1 << 30, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(archive, zeros{}, 1<<30); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(archive.Close(), compressed.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	refuse(t, root, source, digest, "it is damaged, or not a bundle of `make release` (window size exceeded)")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

package deb_test

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images/debian/deb"
	"github.com/strata-platform/strata/internal/local/machine/images/debian/debtest"
)

var example = debtest.Package{Name: "hello", Version: "1",
	Files:    []tar.Header{{Name: "./usr/bin/hello", Typeflag: tar.TypeReg, Mode: 0o4755, Uid: 7, Gid: 8}},
	Contents: map[string]string{"./usr/bin/hello": strings.Repeat("hello", 1001)}}

func write(t *testing.T, content []byte) string {
	path := filepath.Join(t.TempDir(), "hello.deb")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAPackageOfEachFormatIsRead(t *testing.T) {
	for _, format := range []string{"xz", "zst", "gz", ""} {
		var have string
		control, err := deb.Read(write(t, debtest.Deb(t, example, format)), func(h *tar.Header, r io.Reader) error {
			content, err := io.ReadAll(r)
			if h.Mode != 0o4755 || h.Uid != 7 || h.Gid != 8 {
				t.Errorf("the header is %+v", h)
			}
			have += string(content)
			return err
		})
		if err != nil || have != example.Contents["./usr/bin/hello"] || !strings.Contains(control, "Package: hello") {
			t.Errorf("format %q: %d bytes, control %q, error %v", format, len(have), control, err)
		}
	}
}

func TestADamagedPackageIsRefused(t *testing.T) {
	whole := debtest.Deb(t, example, "gz")
	for name, content := range map[string]string{
		"a file of another format":   "no package",
		"an empty file":              "",
		"a truncated header":         string(whole[:40]),
		"a truncated member":         string(whole[:len(whole)-20]),
		"a package without its data": string(whole[:strings.Index(string(whole), "data.tar")]),
		"a negative size":            strings.Replace(string(whole), "4         `\n", "-4        `\n", 1),
	} {
		if _, err := deb.Read(write(t, []byte(content)), func(*tar.Header, io.Reader) error { return nil }); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

package debian_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/strata-platform/strata/internal/local/machine/images/debian"
	"github.com/strata-platform/strata/internal/local/machine/images/debian/archive"
	"github.com/strata-platform/strata/internal/local/machine/images/debian/debtest"
)

const recipeText = `
suite: trixie
packages: [base-passwd, web]
copy: [{from: /usr/share/web, to: /srv}]
remove: [/usr/share/web]
folders: [{path: /tmp, mode: "1777"}]
files: [{path: /etc/web.conf, source: files/web.conf, user: 33}]
links: {/usr/bin/w: web}
config: {entrypoint: [web], env: {B: "2", A: "1"}, ports: [80], user: www-data}
`

// packages returns the packages of the recipe. The last one has a version.
func packages(version string) []debtest.Package {
	regular := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }
	return []debtest.Package{
		// This package sorts behind another one, and its link has to exist first.
		{Name: "base-files", Version: "1", Files: []tar.Header{{Name: "./bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"}}},
		{Name: "a-first", Version: "1", Fields: []string{"Depends: base-files"}, Files: []tar.Header{regular("./bin/first")}},
		{Name: "base-passwd", Version: "1", Files: []tar.Header{regular("./usr/share/base-passwd/passwd.master"), regular("./usr/share/base-passwd/group.master")},
			Contents: map[string]string{"./usr/share/base-passwd/passwd.master": "www-data:*:33:33::/:/\n", "./usr/share/base-passwd/group.master": "www-data:*:33:\n"}},
		{Name: "web", Version: version, Fields: []string{"Depends: a-first"}, Files: []tar.Header{regular("./usr/share/web/index")},
			Contents: map[string]string{"./usr/share/web/index": "version " + version}},
	}
}

// builder returns a builder with a cache of its own, and the lines that it reports.
func builder(t *testing.T, m *debtest.Mirror) (*debian.Builder, *[]string) {
	t.Helper()
	lines := &[]string{}
	b, err := debian.NewBuilder(debian.Options{Mirror: m.URL, Keys: m.Keys, Cache: t.TempDir(), Report: func(line string) { *lines = append(*lines, line) }})
	if err != nil {
		t.Fatal(err)
	}
	return b, lines
}

// locked returns the recipe with the lock of the mirror's current release.
func locked(t *testing.T, m *debtest.Mirror) *debian.Recipe {
	t.Helper()
	folder := fstest.MapFS{"recipe.yaml": {Data: []byte(recipeText)}, "files/web.conf": {Data: []byte("port 80\n")}}
	r, err := debian.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := builder(t, m)
	lock, err := b.Lock(t.Context(), r, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	folder[runtime.GOARCH+".lock"] = &fstest.MapFile{Data: []byte(lock.String())}
	if r, err = debian.Load(folder); err != nil {
		t.Fatal(err)
	}
	return r
}

// layer returns the entries of an image's layer, and their contents.
func layer(t *testing.T, image v1.Image) (headers map[string]tar.Header, contents map[string]string) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	headers, contents = map[string]tar.Header{}, map[string]string{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		var content bytes.Buffer
		if err == nil {
			_, err = io.Copy(&content, r)
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name], contents[h.Name] = *h, content.String()
	}
}

func digest(t *testing.T, image v1.Image) string {
	t.Helper()
	d, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func TestAnImageHasWhatTheRecipeSays(t *testing.T) {
	m := debtest.NewMirror(t, packages("1")...)
	b, _ := builder(t, m)
	image, err := b.Image(t.Context(), locked(t, m))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	headers, contents := layer(t, image)
	want := map[string]string{"srv/index": "version 1", "etc/web.conf": "port 80\n", "etc/group": "www-data:*:33:\n", "etc/passwd": "www-data:*:33:33::/:/\n", "usr/bin/first": "", "usr/bin/w": ""}
	for name, content := range want {
		if have, found := contents[name]; !found || have != content {
			t.Errorf("%s is %q, %v", name, have, found)
		}
	}
	if _, found := headers["usr/share/web/"]; found {
		t.Error("a removed folder is in the image")
	}
	if headers["tmp/"].Mode != 0o1777 || headers["etc/web.conf"].Uid != 33 || headers["usr/bin/w"].Linkname != "web" {
		t.Errorf("modes, owners or links are wrong: %v", headers)
	}
	if status := contents["var/lib/dpkg/status"]; !strings.Contains(status, "Package: web\nVersion: 1\nStatus: install ok installed\n") {
		t.Errorf("dpkg's status is %s", status)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := file.Config; strings.Join(c.Env, " ") != "A=1 B=2" || c.User != "www-data" || c.Entrypoint[0] != "web" || file.Architecture != runtime.GOARCH {
		t.Errorf("the configuration is %+v", file)
	}
}

func TestEqualRecipesResultInEqualBytes(t *testing.T) {
	m := debtest.NewMirror(t, packages("1")...)
	r := locked(t, m)
	first, _ := builder(t, m)
	one, err := first.Image(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := builder(t, m)
	two, err := second.Image(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if digest(t, one) != digest(t, two) {
		t.Error("the images differ")
	}
	m.Release(t)
	if again, err := first.Image(t.Context(), r); err != nil || digest(t, again) != digest(t, one) {
		t.Errorf("the cache does not replace the mirror: %v", err)
	}
}

func TestAnOutdatedLockIsReportedAndReplaced(t *testing.T) {
	m := debtest.NewMirror(t, packages("1")...)
	r := locked(t, m)
	m.Release(t, packages("2")...)
	b, lines := builder(t, m)
	image, err := b.Image(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, contents := layer(t, image); contents["srv/index"] != "version 2" {
		t.Errorf("the image has %q", contents["srv/index"])
	}
	if all := strings.Join(*lines, "\n"); !strings.Contains(all, "the mirror has no web 1 anymore") {
		t.Errorf("the report is %s", all)
	}
}

func TestAFolderHasTheFilesOfTheImage(t *testing.T) {
	m := debtest.NewMirror(t, packages("1")...)
	b, _ := builder(t, m)
	r := locked(t, m)
	path, err := b.Folder(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(path, "srv", "index")); err != nil || string(content) != "version 1" {
		t.Errorf("the file is %q: %v", content, err)
	}
	if again, err := b.Folder(t.Context(), r); err != nil || again != path {
		t.Errorf("the second call returns %s: %v", again, err)
	}
}

func TestAWrongRecipeIsRefused(t *testing.T) {
	for name, change := range map[string][2]string{
		"an unknown field":     {"suite:", "suit:"},
		"a missing source":     {"files/web.conf", "files/none"},
		"a mode in text":       {`"1777"`, `"rwx"`},
		"a recipe of no suite": {"suite: trixie", ""},
	} {
		folder := fstest.MapFS{"recipe.yaml": {Data: []byte(strings.Replace(recipeText, change[0], change[1], 1))}, "files/web.conf": {}}
		if _, err := debian.Load(folder); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	m := debtest.NewMirror(t, packages("1")...)
	b, _ := builder(t, m)
	for name, change := range map[string]string{"a file that the image does not have": "/usr/share/none", "a pattern without a match": "/none/*"} {
		text := strings.Replace(recipeText, "remove: [/usr/share/web]", "remove: ["+change+"]", 1)
		folder := fstest.MapFS{"recipe.yaml": {Data: []byte(text)}, "files/web.conf": {}}
		r, err := debian.Load(folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Image(t.Context(), r); err == nil || !strings.Contains(err.Error(), "-lock") {
			t.Errorf("a recipe without a lock: %v", err)
		}
		lock, err := b.Lock(t.Context(), r, runtime.GOARCH)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(folder, fstest.MapFS{runtime.GOARCH + ".lock": {Data: []byte(lock.String())}})
		if _, err := b.Image(t.Context(), r); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestWithoutAMirrorTheErrorSaysWhatToDo(t *testing.T) {
	m := debtest.NewMirror(t, packages("1")...)
	r := locked(t, m)
	server := httptest.NewServer(nil)
	server.Close()
	b, err := debian.NewBuilder(debian.Options{Mirror: server.URL, Keys: m.Keys, Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Image(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "download Debian's package") || !strings.Contains(err.Error(), server.URL) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a mirror that does not answer: %v", err)
	}
	empty := archive.Archive{Cache: t.TempDir()}
	sum := strings.Repeat("0a", 32)
	if _, err := empty.Fetch(t.Context(), []archive.Package{{Name: "a", SHA256: sum, Size: 1, File: "pool/a"}}); !errors.Is(err, archive.ErrNoMirror) {
		t.Errorf("no mirror: %v", err)
	}
}

// Package debtest builds packages of Debian, and archives with them, for tests.
package debtest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Package is a package of an archive.
type Package struct {
	Name, Version string
	// Fields are more lines of its stanza, such as "Depends: a".
	Fields []string
	Files  []tar.Header
	// Contents are the contents of regular files by name.
	Contents map[string]string
}

// Deb returns the bytes of a package whose members are compressed in a format: xz, zst, gz, or none if it is empty.
func Deb(t testing.TB, p Package, format string) []byte {
	t.Helper()
	suffix := ""
	if format != "" {
		suffix = "." + format
	}
	var deb bytes.Buffer
	deb.WriteString("!<arch>\n")
	control := fmt.Sprintf("Package: %s\nVersion: %s\n", p.Name, p.Version)
	for _, m := range []struct {
		name    string
		content []byte
	}{
		{"debian-binary", []byte("2.0\n")},
		{"control.tar" + suffix, compress(t, archive(t, []tar.Header{{Name: "./control", Typeflag: tar.TypeReg, Mode: 0o644}}, map[string]string{"./control": control}), format)},
		{"data.tar" + suffix, compress(t, archive(t, p.Files, p.Contents), format)},
	} {
		fmt.Fprintf(&deb, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 0, 0, 0, "100644", len(m.content))
		deb.Write(m.content)
		if len(m.content)%2 == 1 {
			deb.WriteByte('\n')
		}
	}
	return deb.Bytes()
}

func archive(t testing.TB, files []tar.Header, contents map[string]string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, header := range files {
		header.Size = int64(len(contents[header.Name]))
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(contents[header.Name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compress(t testing.TB, content []byte, format string) []byte {
	var b bytes.Buffer
	var w interface {
		Write([]byte) (int, error)
		Close() error
	}
	var err error
	switch format {
	case "xz":
		w, err = xz.NewWriter(&b)
	case "zst":
		w, err = zstd.NewWriter(&b)
	case "gz":
		w = gzip.NewWriter(&b)
	default:
		return content
	}
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Mirror is a mirror with one suite, trixie for amd64 and arm64.
type Mirror struct {
	URL string
	// Keys has the key that signs the suite.
	Keys fstest.MapFS

	signer *openpgp.Entity
	mu     sync.Mutex
	files  map[string][]byte
}

// NewMirror serves a mirror until the end of the test.
func NewMirror(t testing.TB, packages ...Package) *Mirror {
	t.Helper()
	m := &Mirror{}
	var err error
	if m.signer, err = openpgp.NewEntity("test", "", "test@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA}); err != nil {
		t.Fatal(err)
	}
	var public bytes.Buffer
	if err := m.signer.Serialize(&public); err != nil {
		t.Fatal(err)
	}
	m.Keys = fstest.MapFS{"keys/trixie.gpg": {Data: public.Bytes()}}
	m.Release(t, packages...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		content, found := m.files[r.URL.Path]
		m.mu.Unlock()
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

// Release replaces the suite by a new release, without the files of the old one.
func (m *Mirror) Release(t testing.TB, packages ...Package) {
	t.Helper()
	files := map[string][]byte{}
	var index bytes.Buffer
	for _, p := range packages {
		deb := Deb(t, p, "xz")
		path := "pool/main/" + p.Name + "_" + p.Version + ".deb"
		files["/"+path] = deb
		fmt.Fprintf(&index, "Package: %s\nVersion: %s\nFilename: %s\nSize: %d\nSHA256: %x\n", p.Name, p.Version, path, len(deb), sha256.Sum256(deb))
		for _, field := range p.Fields {
			fmt.Fprintln(&index, field)
		}
		fmt.Fprintln(&index)
	}
	packed := compress(t, index.Bytes(), "xz")
	sum := fmt.Sprintf("%x", sha256.Sum256(packed))
	var release strings.Builder
	release.WriteString("Codename: trixie\nDate: Sat, 21 Nov 2026 09:15:44 UTC\nSHA256:\n")
	for _, architecture := range []string{"amd64", "arm64"} {
		folder := "main/binary-" + architecture
		fmt.Fprintf(&release, " %s %d %s/Packages.xz\n", sum, len(packed), folder)
		files["/dists/trixie/"+folder+"/by-hash/SHA256/"+sum] = packed
	}
	var signed bytes.Buffer
	w, err := clearsign.Encode(&signed, m.signer.PrivateKey, nil)
	if err == nil {
		_, err = w.Write([]byte(release.String()))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	files["/dists/trixie/InRelease"] = signed.Bytes()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files = files
}

// Change replaces the contents of files of the mirror, as an attacker would. change returns the new content of a path.
func (m *Mirror) Change(change func(path string, content []byte) []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for path, content := range m.files {
		m.files[path] = change(path, content)
	}
}

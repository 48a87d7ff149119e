package source_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/source"
)

// pack returns an archive of the given entries. An entry without content is what its
// header says.
func pack(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	archive := tar.NewWriter(zipped)
	for _, header := range entries {
		content := header.PAXRecords["STRATA.content"]
		header.PAXRecords = nil
		if header.Typeflag == 0 {
			header.Typeflag, header.Mode = tar.TypeReg, 0o644
			if header.Size == 0 {
				header.Size = int64(len(content))
			}
		}
		if err := archive.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	_ = archive.Close() // Tests omit announced content on purpose.
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func file(name, content string) tar.Header {
	return tar.Header{Name: name, PAXRecords: map[string]string{"STRATA.content": content}}
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// serve serves one archive and returns its address.
func serve(t *testing.T, data []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
	t.Cleanup(server.Close)
	return server.URL + "/artifact.tar.gz"
}

func TestArtifactIsUnpackedAndNothingElseIsLeft(t *testing.T) {
	data := pack(t, tar.Header{Name: "app", Typeflag: tar.TypeDir, Mode: 0o755}, file("app/Pulumi.yaml", "name: shop"))
	dst := t.TempDir()
	revision, err := source.Artifact{URL: serve(t, data), Digest: digest(data), Revision: "main@sha1:abc"}.Fetch(t.Context(), dst)
	if err != nil || revision != "main@sha1:abc" {
		t.Fatalf("revision %q, error %v", revision, err)
	}
	content, err := os.ReadFile(filepath.Join(dst, "app", "Pulumi.yaml"))
	if err != nil || string(content) != "name: shop" {
		t.Errorf("content %q, error %v", content, err)
	}
	if left, err := os.ReadDir(dst); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v), want app only", left, err)
	}
}

func TestArtifactsThatAreRefused(t *testing.T) {
	many := make([]tar.Header, 20_001)
	for i := range many {
		many[i] = tar.Header{Name: fmt.Sprintf("d%d", i), Typeflag: tar.TypeDir, Mode: 0o755}
	}
	cases := map[string]struct {
		entries []tar.Header
		message string
	}{
		"a name that leads out":      {[]tar.Header{file("../escaped", "x")}, "invalid name"},
		"a name that is absolute":    {[]tar.Header{file("/escaped", "x")}, "invalid name"},
		"a way out in the middle":    {[]tar.Header{file("a/../../escaped", "x")}, "invalid name"},
		"a link":                     {[]tar.Header{{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}, "is a symlink, which is not allowed"},
		"a hard link":                {[]tar.Header{{Name: "link", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}}, ""},
		"a device":                   {[]tar.Header{{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}, "unsupported file type"},
		"more than may be unpacked":  {[]tar.Header{{Name: "big", Size: 101 << 20, Typeflag: tar.TypeReg}}, "bigger than max archive size"},
		"more files than may be":     {many, "more than 20000 files"},
		"what is no archive at all":  {nil, "gzip"},
		"an archive that is cut off": {[]tar.Header{{Name: "half", Size: 1000, Typeflag: tar.TypeReg}}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			data := []byte("plain text")
			if c.entries != nil {
				data = pack(t, c.entries...)
			}
			root := t.TempDir()
			dst := filepath.Join(root, "dst")
			if err := os.Mkdir(dst, 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := source.Artifact{URL: serve(t, data), Digest: digest(data)}.Fetch(t.Context(), dst)
			if name == "a hard link" && err == nil {
				// The hard link became an empty file, which leads nowhere.
				if info, statErr := os.Lstat(filepath.Join(dst, "link")); statErr != nil || info.Size() != 0 {
					t.Errorf("the link is %v (%v)", info, statErr)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), "unpack artifact http://") {
				t.Errorf("error %v, want one that holds %q", err, c.message)
			}
			if left, err := filepath.Glob(filepath.Join(root, "escaped*")); err != nil || len(left) > 0 {
				t.Errorf("%v were made outside (%v)", left, err)
			}
		})
	}
}

func TestArtifactsThatCannotBeFetched(t *testing.T) {
	data := pack(t, file("Pulumi.yaml", "name: shop"))
	good := serve(t, data)
	elsewhere := httptest.NewServer(http.RedirectHandler(good, http.StatusFound))
	defer elsewhere.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	cases := map[string]struct {
		artifact source.Artifact
		message  string
		invalid  bool
	}{
		"another digest":          {source.Artifact{URL: good, Digest: digest([]byte("other"))}, "the archive was changed during the transfer, or its source has published a newer one", false},
		"no digest":               {source.Artifact{URL: good}, `its digest "" must be one of`, true},
		"a weak digest":           {source.Artifact{URL: good, Digest: "md5:00"}, "must be one of sha256", true},
		"a redirect elsewhere":    {source.Artifact{URL: elsewhere.URL, Digest: digest(data)}, "redirects to " + good + ", which is not allowed", false},
		"one that is gone":        {source.Artifact{URL: missing.URL, Digest: digest(data)}, "its server answered 404 Not Found", false},
		"a file of this machine":  {source.Artifact{URL: "file:///etc/passwd", Digest: digest(data)}, "must begin with http:// or https://", true},
		"a path of this machine":  {source.Artifact{URL: "/etc/passwd", Digest: digest(data)}, "must begin with http:// or https://", true},
		"a server that is absent": {source.Artifact{URL: "http://127.0.0.1:1/a", Digest: digest(data)}, "connection refused", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dst := t.TempDir()
			_, err := c.artifact.Fetch(t.Context(), dst)
			if err == nil || !strings.Contains(err.Error(), c.message) || errors.Is(err, source.ErrInvalid) != c.invalid {
				t.Errorf("error %v (invalid %v), want one that holds %q", err, errors.Is(err, source.ErrInvalid), c.message)
			}
			if left, err := os.ReadDir(dst); err != nil || len(left) > 0 {
				t.Errorf("%v were left (%v)", left, err)
			}
		})
	}
}

package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

func FuzzGitAddress(f *testing.F) {
	for _, seed := range []string{
		"https://host/shop.git", "git@host:shop.git", "ssh://git@host:22/shop.git", "ssh://-oProxyCommand=x@host/shop", "ssh://-oProxyCommand=x/shop",
		"file:///etc/passwd", "ext::sh -c x", "https://*/x", "https://a:b@[::1%25x]/x", "host:/x\ny", "https://host/%0a%00", "ssh://a%0ab@host/x", "http://x@y@z/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		address, err := Git{URL: text, Branch: "main"}.address()
		if err != nil {
			if strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("the error has more than one line: %q", err)
			}
			return
		}
		password, _ := address.User.Password()
		if address.User = user(address); password != "" && len(password) > 8 && !strings.Contains(address.Host+address.Path+address.RawQuery, password) && strings.Contains(address.String(), password) {
			t.Errorf("git's arguments hold the password: %q", address)
		}
		whole := address.String()
		switch {
		case address.Scheme != "https" && address.Scheme != "http" && address.Scheme != "ssh":
			t.Errorf("of the kind %q", address.Scheme)
		case strings.HasPrefix(address.Hostname(), "-"), strings.HasPrefix(address.User.Username(), "-"), strings.HasPrefix(whole, "-"):
			t.Errorf("%q is an option", whole)
		case strings.ContainsFunc(whole, unicode.IsControl), strings.ContainsAny(address.Host, "* '\"\\"):
			t.Errorf("%q holds what means something elsewhere", whole)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	for _, header := range []tar.Header{
		{Name: "Pulumi.yaml", Size: 4, Mode: 0o600}, {Name: "../x", Size: 4}, {Name: "a/..", Typeflag: tar.TypeDir}, {Name: "a", Linkname: "/etc", Typeflag: tar.TypeSymlink},
		{Name: "a", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}, {Name: "p", Typeflag: tar.TypeFifo}, {Name: strings.Repeat("a/", 200), Typeflag: tar.TypeDir},
	} {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		if err := w.WriteHeader(&header); err != nil {
			f.Fatal(err)
		}
		if header.Size > 0 {
			_, _ = w.Write([]byte("text"))
		}
		_ = w.Close()
		f.Add(archive.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(data)
		_ = w.Close()
		beside := t.TempDir()
		dst := filepath.Join(beside, "dst")
		if err := os.Mkdir(dst, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = unpack(t.Context(), &packed, dst)
		if entries, err := os.ReadDir(beside); err != nil || len(entries) != 1 {
			t.Fatalf("beside the folder are %v (%v)", entries, err)
		}
		err := filepath.WalkDir(dst, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && !entry.Type().IsRegular() {
				t.Errorf("%s is %v", path, entry.Type())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

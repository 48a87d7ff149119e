package archive_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images/debian/archive"
	"github.com/strata-platform/strata/internal/local/machine/images/debian/debtest"
)

func of(t *testing.T, m *debtest.Mirror) *archive.Archive {
	return &archive.Archive{Mirror: m.URL, Cache: t.TempDir(), Keys: m.Keys}
}

func TestDependenciesAreResolved(t *testing.T) {
	m := debtest.NewMirror(t,
		debtest.Package{Name: "web", Version: "1", Fields: []string{"Depends: lib (>= 1:2), php:any | perl, httpd | server, missing-one | second", "Pre-Depends: base"}},
		debtest.Package{Name: "lib", Version: "1:2", Fields: []string{"Depends: web"}},
		debtest.Package{Name: "perl", Version: "1"}, debtest.Package{Name: "second", Version: "1"}, debtest.Package{Name: "base", Version: "1"},
		debtest.Package{Name: "apache", Version: "1", Fields: []string{"Provides: httpd (= 2), other"}},
		debtest.Package{Name: "unused", Version: "1"},
	)
	index, err := of(t, m).Index(t.Context(), "trixie", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		names, without []string
		want           string // the packages, or a part of the error
	}{
		"with dependencies and alternatives":     {[]string{"web", "apache", "perl"}, nil, "apache base lib perl second web"},
		"a virtual package needs a choice":       {[]string{"web", "perl"}, nil, "httpd or server: add one of its providers to the recipe: apache"},
		"a package in without counts as met":     {[]string{"web", "perl"}, []string{"httpd", "second"}, "base lib perl web"},
		"a package that the suite does not have": {[]string{"nothing"}, nil, `no package "nothing"`},
	}
	for name, test := range tests {
		packages, err := index.Resolve(test.names, test.without)
		var have []string
		for _, p := range packages {
			have = append(have, p.Name)
		}
		if joined := strings.Join(have, " "); joined != test.want && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %s, %v", name, joined, err)
		}
	}
}

func TestOnlyTheSignedIndexCounts(t *testing.T) {
	one := debtest.Package{Name: "one", Version: "1"}
	tests := map[string]func(m *debtest.Mirror){
		"another key": func(m *debtest.Mirror) { m.Keys = debtest.NewMirror(t, one).Keys },
		"no key":      func(m *debtest.Mirror) { delete(m.Keys, "keys/trixie.gpg") },
		"a changed release": func(m *debtest.Mirror) {
			m.Change(func(_ string, c []byte) []byte {
				return bytes.Replace(c, []byte("Packages.xz"), []byte("Packages.gz"), 1)
			})
		},
		"a release without a signature": func(m *debtest.Mirror) {
			m.Change(func(path string, c []byte) []byte {
				if strings.HasSuffix(path, "InRelease") {
					return []byte("Codename: trixie\n")
				}
				return c
			})
		},
		"a changed index": func(m *debtest.Mirror) {
			m.Change(func(path string, c []byte) []byte {
				if strings.Contains(path, "by-hash") {
					return append(slices.Clone(c), 0)
				}
				return c
			})
		},
	}
	for name, attack := range tests {
		m := debtest.NewMirror(t, one)
		attack(m)
		if _, err := of(t, m).Index(t.Context(), "trixie", "amd64"); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := of(t, debtest.NewMirror(t, one)).Index(t.Context(), "trixie", "s390x"); err == nil {
		t.Error("an architecture without an index was accepted")
	}
}

func TestAPackageHasItsPinnedContent(t *testing.T) {
	m := debtest.NewMirror(t, debtest.Package{Name: "one", Version: "1"})
	a := of(t, m)
	index, err := a.Index(t.Context(), "trixie", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := index.Resolve([]string{"one"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := a.Fetch(t.Context(), packages)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(paths[0]); err != nil || info.Size() != packages[0].Size {
		t.Errorf("the package is %v: %v", info, err)
	}
	m.Change(func(_ string, c []byte) []byte { return append(slices.Clone(c), '\n') })
	if _, err := a.Fetch(t.Context(), packages); err != nil {
		t.Errorf("a package of the cache was downloaded again: %v", err)
	}
	other := of(t, m)
	if _, err := other.Fetch(t.Context(), packages); err == nil || !strings.Contains(err.Error(), "differs from the pinned sum") {
		t.Errorf("another content: %v", err)
	}
	if left, err := os.ReadDir(other.Cache); err != nil || len(left) > 0 {
		t.Errorf("a failed download leaves %v (%v)", left, err)
	}
	m.Release(t)
	var gone *archive.GoneError
	if _, err := of(t, m).Fetch(t.Context(), packages); !errors.As(err, &gone) || gone.Package.Name != "one" {
		t.Errorf("a package that the mirror has removed: %v", err)
	}
}

func TestALockIsReadAsItIsWritten(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	text := "suite trixie\narchitecture amd64\ndate 2026-11-21T09:15:44Z\npackage one 1:2+x 7 " + sum + " pool/main/o/one.deb\n"
	lock, err := archive.ParseLock(text)
	if err != nil || lock.String() != text {
		t.Errorf("the lock is %q: %v", lock, err)
	}
	for name, wrong := range map[string]string{
		"no packages":            "suite trixie\narchitecture amd64\ndate 2026-11-21T09:15:44Z\n",
		"a sum that is a path":   strings.Replace(text, sum, "../"+sum[:61], 1),
		"a file out of the pool": strings.Replace(text, "pool/main", "pool/../..", 1),
		"a size below zero":      strings.Replace(text, " 7 ", " -7 ", 1),
		"an unknown line":        text + "hello\n",
	} {
		if _, err := archive.ParseLock(wrong); err == nil {
			t.Errorf("a lock with %s was accepted", name)
		}
	}
}

func TestTheMirrorIsThatOfTheMachine(t *testing.T) {
	tests := map[string]struct{ file, content, variable, want string }{
		"deb822":          {"sources.list.d/debian.sources", "Types: deb\n# URIs: http://old.example/debian\nURIs: http://a.example/debian/\nSuites: x\n", "", "http://a.example/debian"},
		"one line":        {"sources.list", "deb [signed-by=/x] https://b.example/debian x main\n", "", "https://b.example/debian"},
		"another system":  {"sources.list", "deb http://c.example/ubuntu x main\ndeb http://c.example/debian-security x main\n", "", ""},
		"the variable":    {"sources.list", "deb http://d.example/debian x main\n", "http://e.example/mirror", "http://e.example/mirror"},
		"no file of APTs": {"other", "", "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "etc", "apt", test.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(test.content), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Setenv(archive.MirrorVariable, test.variable)
			if have, err := archive.FindMirror(root); have != test.want || (err != nil) != (test.want == "") {
				t.Errorf("the mirror is %q: %v", have, err)
			}
		})
	}
}

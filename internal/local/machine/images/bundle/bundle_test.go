package bundle_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

const most = 1 << 30

func puller(t *testing.T) pull.Puller {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.Reserve = 0
	return pull.Puller{Store: s}
}

// exported returns a bundle with one image, and the image's reference.
func exported(t *testing.T) (*bytes.Buffer, string) {
	t.Helper()
	host := imagetest.Registry(t, nil)
	reference := host + "/app:1"
	imagetest.Push(t, reference, imagetest.Image(t, imagetest.Files{"a": "1"}, imagetest.Files{"b": "2"}))
	p := puller(t)
	if _, err := p.Pull(t.Context(), reference, nil, nil); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := bundle.Export(t.Context(), p.Store, &b, reference); err != nil {
		t.Fatal(err)
	}
	if err := bundle.Export(t.Context(), p.Store, io.Discard, host+"/app:2"); fault.Of(err) != fault.NotFound {
		t.Errorf("the export of a missing image: %v", err)
	}
	return &b, reference
}

func TestABundleBringsImagesToAnotherStoreWithoutARegistry(t *testing.T) {
	b, reference := exported(t)
	p := puller(t)
	names, err := bundle.Import(t.Context(), p.Store, b, most)
	if err != nil || len(names) != 1 || names[0] != reference {
		t.Fatalf("the references are %v (%v)", names, err)
	}
	if _, err := p.Get(t.Context(), reference, nil); err != nil {
		t.Error(err)
	}
	// The store is an OCI layout, in which another tool finds a valid image.
	path, err := layout.FromPath(p.Store.Dir())
	if err != nil {
		t.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}

func TestWrongBundlesAreRefusedAndNothingIsLeft(t *testing.T) {
	b, _ := exported(t)
	type file struct{ name, content string }
	// changed returns the bundle after a change of its files.
	changed := func(change func(file) []file) []byte {
		var out bytes.Buffer
		r, w := tar.NewReader(bytes.NewReader(b.Bytes())), tar.NewWriter(&out)
		for {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range change(file{header.Name, string(content)}) {
				if err := w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.content)), Mode: 0o644}); err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(w, f.content); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	in := func(part string, edit func(file) []file) []byte {
		return changed(func(f file) []file {
			if strings.Contains(f.name, part) {
				return edit(f)
			}
			return []file{f}
		})
	}
	for name, c := range map[string]struct {
		bundle []byte
		limit  int64
		kind   fault.Kind
		want   string
	}{
		"no archive":          {[]byte(strings.Repeat("x", 1000)), most, fault.Corrupt, "it is not a tar archive"},
		"a truncated archive": {b.Bytes()[:b.Len()/2], most, fault.Corrupt, "bundle"},
		"no index":            {in("index.json", func(file) []file { return nil }), most, fault.Corrupt, "it has no index.json"},
		"a damaged index":     {in("index.json", func(f file) []file { return []file{{f.name, "x"}} }), most, fault.Corrupt, "cannot be decoded"},
		"an empty index":      {in("index.json", func(f file) []file { return []file{{f.name, "{}"}} }), most, fault.Corrupt, "names no image"},
		"a damaged blob":      {in("blobs/", func(f file) []file { return []file{{f.name, f.content + "x"}} }), most, fault.Corrupt, "has other content"},
		"a missing blob":      {in("blobs/", func(file) []file { return nil }), most, fault.NotFound, "does not contain it"},
		"a blob outside":      {in("blobs/", func(file) []file { return []file{{"blobs/sha256/../../x", "x"}} }), most, fault.NotFound, "does not contain it"},
		"a wrong blob's name": {in("blobs/", func(file) []file { return []file{{"blobs/sha256/x", "x"}} }), most, fault.Corrupt, "is not a digest"},
		"above the limit":     {b.Bytes(), 100, fault.TooLarge, "more than 100 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			p := puller(t)
			_, err := bundle.Import(t.Context(), p.Store, bytes.NewReader(c.bundle), c.limit)
			if fault.Of(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("the error is %v, want %s: %q", err, c.kind, c.want)
			}
			references, err := p.Store.References()
			if err != nil || len(references) > 0 {
				t.Errorf("the store has the references %v (%v)", references, err)
			}
			if found, err := filepath.Glob(p.Store.Partial("*")); err != nil || len(found) > 0 {
				t.Errorf("unfinished files are left: %v (%v)", found, err)
			}
		})
	}
}

package store_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

func opened(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// image adds an image with one layer and its EROFS file, and returns the manifest and the configuration.
func image(t *testing.T, s *store.Store, content string) (v1.Descriptor, v1.Hash) {
	t.Helper()
	put := func(text string) v1.Hash {
		digest, err := s.Put(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	layer, config := put("layer "+content), put("config "+content)
	manifest, err := json.Marshal(v1.Manifest{SchemaVersion: 2, Config: v1.Descriptor{Digest: config}, Layers: []v1.Descriptor{{Digest: layer}}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := s.Take(t.Context(), config.Hex+".image")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CommitImage(file, config, map[string]string{}); err != nil {
		t.Fatal(err)
	}
	return v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: put(string(manifest)), Size: int64(len(manifest))}, config
}

// stored counts the files with content: three blobs and two EROFS files for each image.
func stored(t *testing.T, s *store.Store) int {
	t.Helper()
	count := 0
	for _, folder := range []string{"blobs/sha256", "erofs", "partial"} {
		entries, err := os.ReadDir(filepath.Join(s.Dir(), folder))
		if err != nil {
			t.Fatal(err)
		}
		count += len(entries)
	}
	return count
}

func TestReferencesSurviveAndAreAnOCILayout(t *testing.T) {
	s := opened(t)
	first, _ := image(t, s, "1")
	second, _ := image(t, s, "2")
	for _, reference := range []store.Reference{{Name: "a/app:1", Target: first}, {Name: "a/app:2", Target: first}, {Name: "a/app:1", Target: second}} {
		if err := s.Refer(t.Context(), reference); err != nil {
			t.Fatal(err)
		}
	}
	again, err := store.Open(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if found, err := again.Resolve("a/app:1"); err != nil || found.Digest != second.Digest {
		t.Errorf("app:1 is %+v (%v)", found, err)
	}
	if _, err := again.Resolve("a/app:3"); fault.Of(err) != fault.NotFound {
		t.Errorf("the error is %v", err)
	}
	path, err := layout.FromPath(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) != 2 {
		t.Errorf("the layout contains %+v (%v)", manifest, err)
	}
}

func TestConcurrentReferencesAreAllKept(t *testing.T) {
	s := opened(t)
	target, _ := image(t, s, "1")
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			other, err := store.Open(s.Dir())
			if err == nil {
				err = other.Refer(t.Context(), store.Reference{Name: fmt.Sprintf("app:%d", n), Target: target})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if found, err := s.References(); err != nil || len(found) != 20 {
		t.Errorf("there are %d references (%v)", len(found), err)
	}
}

func TestCollectRemovesOnlyWhatNothingNeeds(t *testing.T) {
	s := opened(t)
	kept, _ := image(t, s, "kept")
	dropped, _ := image(t, s, "dropped")
	running, config := image(t, s, "running")
	image(t, s, "without a reference")
	if err := s.Refer(t.Context(), store.Reference{Name: "app:kept", Target: kept}, store.Reference{Name: "app:dropped", Target: dropped}, store.Reference{Name: "app:running", Target: running}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Lease(t.Context(), running, config)
	if err != nil {
		t.Fatal(err)
	}
	downloading, err := s.Take(t.Context(), "downloading")
	if err != nil {
		t.Fatal(err)
	}
	abandoned, err := s.Take(t.Context(), "abandoned")
	if err != nil {
		t.Fatal(err)
	}
	abandoned.Close()
	keep := func(r store.Reference) bool { return r.Name == "app:kept" }
	for _, step := range []struct {
		name  string
		keep  func(store.Reference) bool
		grace time.Duration
		want  int
	}{
		{"young content stays", nil, time.Hour, 22},
		{"without a policy all references stay, without the layers", nil, 0, 13},
		{"a policy removes references, and not the leased image", keep, 0, 9},
	} {
		if _, err := s.Collect(t.Context(), step.keep, step.grace); err != nil {
			t.Fatal(err)
		}
		if got := stored(t, s); got != step.want {
			t.Errorf("%s: %d files, want %d", step.name, got, step.want)
		}
	}
	lease.Close()
	downloading.Close()
	collected, err := s.Collect(t.Context(), keep, 0)
	if err != nil || collected.Files != 5 || stored(t, s) != 4 {
		t.Errorf("after the lease %+v was collected (%v), and %d files are left", collected, err, stored(t, s))
	}
	if found, err := os.ReadDir(filepath.Join(s.Dir(), "leases")); err != nil || len(found) != 0 {
		t.Errorf("there are %d leases (%v)", len(found), err)
	}
}

func TestALeaseIsHeldByAChildUntilItEnds(t *testing.T) {
	s := opened(t)
	target, config := image(t, s, "1")
	lease, err := s.Lease(t.Context(), target, config)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{lease.File()}
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lease.Close()
	if _, err := s.Collect(t.Context(), nil, 0); err != nil || stored(t, s) != 4 {
		t.Errorf("%d files are left (%v), want 4", stored(t, s), err)
	}
	input.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Collect(t.Context(), nil, 0); err != nil || stored(t, s) != 0 {
		t.Errorf("%d files are left (%v), want none", stored(t, s), err)
	}
}

func TestADamagedManifestStopsCollect(t *testing.T) {
	s := opened(t)
	digest, err := s.Put(t.Context(), []byte("no JSON"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Refer(t.Context(), store.Reference{Name: "app:1", Target: v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: digest}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Collect(t.Context(), nil, 0); fault.Of(err) != fault.Corrupt || !strings.Contains(err.Error(), "app:1") || stored(t, s) != 1 {
		t.Errorf("the error is %v, and %d files are left", err, stored(t, s))
	}
}

// TestNestedIndexesAreVisitedOnce would not end if each of the 100 names in each of 10 indexes were followed.
func TestNestedIndexesAreVisitedOnce(t *testing.T) {
	s := opened(t)
	target, _ := image(t, s, "1")
	for range 10 {
		content, err := json.Marshal(v1.IndexManifest{Manifests: slices.Repeat([]v1.Descriptor{target}, 100)})
		if err != nil {
			t.Fatal(err)
		}
		digest, err := s.Put(t.Context(), content)
		if err != nil {
			t.Fatal(err)
		}
		target = v1.Descriptor{MediaType: types.OCIImageIndex, Digest: digest}
	}
	visits := 0
	if err := s.Reachable(target, func(v1.Descriptor) { visits++ }); err != nil || visits != 13 {
		t.Errorf("%d blobs are visited (%v), want 13", visits, err)
	}
}

func TestDigestsNeverLeaveTheStore(t *testing.T) {
	s := opened(t)
	for _, digest := range []v1.Hash{{}, {Algorithm: "sha256", Hex: "../../index.json"}, {Algorithm: "sha512", Hex: strings.Repeat("a", 64)},
		{Algorithm: "sha256", Hex: strings.Repeat("A", 64)}, {Algorithm: "sha256", Hex: strings.Repeat("/", 64)}} {
		if _, err := s.Blob(digest); fault.Of(err) != fault.Corrupt {
			t.Errorf("%v: %v", digest, err)
		}
	}
}

func TestAWriterLeavesTheReserveFree(t *testing.T) {
	s := opened(t)
	for name, test := range map[string]struct {
		reserve int64
		want    fault.Kind
		written string
	}{
		"enough space":             {0, "", "text"},
		"only the reserve is left": {1 << 60, fault.NoSpace, ""},
	} {
		s.Reserve = test.reserve
		var out strings.Builder
		if _, err := s.Writer("upload", &out).Write([]byte("text")); fault.Of(err) != test.want || out.String() != test.written {
			t.Errorf("%s: it writes %q, %v; want %q, %q", name, out.String(), err, test.written, test.want)
		}
	}
}

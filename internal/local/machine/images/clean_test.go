package images

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// aged makes all files of a store older than Grace.
func aged(t *testing.T, s *store.Store) {
	t.Helper()
	then := time.Now().Add(-2 * Grace)
	err := filepath.Walk(s.Dir(), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		return os.Chtimes(path, then, then)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCleanRemovesImagesWithoutAPodAndLayersOfPulledImages(t *testing.T) {
	host := imagetest.Registry(t, nil)
	home, err := Open(t.TempDir(), Options{Registry: Host})
	if err != nil {
		t.Fatal(err)
	}
	pull := func(name string, pinned bool) Image {
		imagetest.Push(t, host+"/"+name, imagetest.Image(t, imagetest.Files{name: imagetest.Noise(1, 1<<20)}))
		found, err := home.PullAs(t.Context(), host+"/"+name, nil, store.Marks{Pinned: pinned, Used: time.Now()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	unused, running, pinned := pull("unused", false), pull("running", false), pull("pinned", true)
	lease, err := home.Lease(t.Context(), running)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Close()
	layers := func() int {
		count := 0
		for _, image := range []Image{unused, running, pinned} {
			err := home.Store().Reachable(image.Manifest, func(d v1.Descriptor) {
				if _, found := home.Store().Has(d.Digest); found && d.MediaType.IsLayer() {
					count++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return count
	}
	for _, step := range []struct {
		what   string
		full   bool
		later  time.Duration
		images []Image
		layers int
	}{
		{"soon after the use all images stay, and the layers of the pinned one", false, 0, []Image{unused, running, pinned}, 1},
		{"a week later the unused one is gone", false, Unused + time.Hour, []Image{running, pinned}, 1},
	} {
		aged(t, home.Store())
		if _, err := home.clean(t.Context(), step.full, time.Now().Add(step.later)); err != nil {
			t.Fatal(err)
		}
		if got := layers(); got != step.layers {
			t.Errorf("%s: %d layers, want %d", step.what, got, step.layers)
		}
		for _, image := range step.images {
			if _, err := home.Get(t.Context(), image.Name); err != nil {
				t.Errorf("%s: %v", step.what, err)
			}
		}
	}
	if _, err := home.Get(t.Context(), unused.Name); fault.Of(err) != fault.NotFound {
		t.Errorf("the unused image exists: %v", err)
	}
	// A pull of an image without layers downloads none, and one for a bundle downloads them.
	if _, err := home.Pull(t.Context(), running.Name, nil, nil); err != nil || layers() != 1 {
		t.Errorf("after a pull of an unpacked image there are %d layers (%v)", layers(), err)
	}
	if _, err := home.PullAs(t.Context(), running.Name, nil, store.Marks{Pinned: true}, nil); err != nil || layers() != 2 {
		t.Errorf("after a pull by a person there are %d layers (%v)", layers(), err)
	}
}

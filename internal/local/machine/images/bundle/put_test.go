package bundle_test

import (
	"errors"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
)

func TestAnAssembledImageIsThereUnderItsReference(t *testing.T) {
	home, err := images.Open(t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const reference = "docker.io/library/web:1"
	image := imagetest.Image(t, imagetest.Files{"one": "1"}, imagetest.Files{"two": "2"})
	for range 2 { // The second call finds all content.
		if err := bundle.Put(t.Context(), home.Store(), reference, image); err != nil {
			t.Fatal(err)
		}
	}
	have, err := home.Get(t.Context(), reference)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := image.Digest(); err != nil || have.Manifest.Digest != want || have.Contents.Entries != 2 {
		t.Errorf("the image is %+v, want %s (%v)", have, want, err)
	}
}

// lying is an image whose layers cannot be read.
type lying struct{ v1.Image }

func (l lying) Layers() ([]v1.Layer, error) {
	layers, err := l.Image.Layers()
	return []v1.Layer{unreadable{layers[0]}}, err
}

type unreadable struct{ v1.Layer }

func (unreadable) Compressed() (io.ReadCloser, error) { return nil, errors.New("unreadable") }

func TestAFailedPutLeavesNoReference(t *testing.T) {
	home, err := images.Open(t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const reference = "docker.io/library/web:1"
	if err := bundle.Put(t.Context(), home.Store(), reference, lying{imagetest.Image(t, imagetest.Files{"one": "1"})}); err == nil {
		t.Error("an image without a readable layer was stored")
	}
	if _, err := home.Get(t.Context(), reference); fault.Of(err) != fault.NotFound {
		t.Errorf("after the failure the error is %v", err)
	}
}

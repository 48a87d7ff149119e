package bundle

import (
	"context"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// Docker reads the only image of an archive in the older format of docker save, which podman save writes by default. The layers
// of such an archive are not compressed. Docker compresses them, because the store keeps layers as registries serve them.
func Docker(ctx context.Context, s *store.Store, path string) (Content, error) {
	image, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		return Content{}, broken("it cannot be read as an archive of docker save with one image", err)
	}
	// Without a tag, the caller has to name the image.
	var found Content
	if manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(path) }); err == nil && len(manifest) == 1 && len(manifest[0].RepoTags) > 0 {
		parsed, err := pull.Parse(manifest[0].RepoTags[0])
		if err != nil {
			return found, err
		}
		found.Name = parsed.Name()
	}
	layers, err := image.Layers()
	if err != nil {
		return found, broken("its layers cannot be read", err)
	}
	for n, layer := range layers {
		if err := addLayer(ctx, s, layer); err != nil {
			return found, fmt.Errorf("layer %d: %w", n+1, err)
		}
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return found, broken("its configuration cannot be read", err)
	}
	if _, err := s.Put(ctx, config); err != nil {
		return found, err
	}
	manifest, err := image.RawManifest()
	if err != nil {
		return found, broken("its layers cannot be read", err)
	}
	if _, err := s.Put(ctx, manifest); err != nil {
		return found, err
	}
	target, err := partial.Descriptor(image)
	if err != nil {
		return found, err
	}
	found.Target = *target
	return found, nil
}

// addLayer stores a compressed layer.
func addLayer(ctx context.Context, s *store.Store, layer v1.Layer) error {
	digest, err := layer.Digest()
	if err != nil {
		return broken("it cannot be read", err)
	}
	size, err := layer.Size()
	if err != nil {
		return broken("it cannot be read", err)
	}
	content, err := layer.Compressed()
	if err != nil {
		return broken("it cannot be read", err)
	}
	defer content.Close()
	return add(ctx, s, content, digest.Hex, size)
}

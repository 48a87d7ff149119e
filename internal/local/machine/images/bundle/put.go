package bundle

import (
	"bytes"
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// Put adds an image that this program has assembled to a store, under a reference. After an error the store has no new reference.
func Put(ctx context.Context, s *store.Store, reference string, image v1.Image) error {
	fail := func(err error) error { return fmt.Errorf("store image %s: %w", reference, err) }
	parsed, err := pull.Parse(reference)
	if err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return fail(err)
	}
	for _, layer := range layers {
		if err := putLayer(ctx, s, layer); err != nil {
			return fail(err)
		}
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return fail(err)
	}
	manifest, err := image.RawManifest()
	if err != nil {
		return fail(err)
	}
	// The manifest follows the content that it names, and the reference below is last, so nobody finds an incomplete image.
	for _, content := range [][]byte{config, manifest} {
		digest, size, err := v1.SHA256(bytes.NewReader(content))
		if err == nil {
			err = add(ctx, s, bytes.NewReader(content), digest.Hex, size)
		}
		if err != nil {
			return fail(err)
		}
	}
	target, err := partial.Descriptor(image)
	if err != nil {
		return fail(err)
	}
	if err := s.Refer(ctx, store.Reference{Name: parsed.Name(), Target: *target}); err != nil {
		return fail(err)
	}
	return nil
}

// putLayer stores a compressed layer.
func putLayer(ctx context.Context, s *store.Store, layer v1.Layer) error {
	digest, err := layer.Digest()
	if err != nil {
		return err
	}
	size, err := layer.Size()
	if err != nil {
		return err
	}
	content, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer content.Close()
	return add(ctx, s, content, digest.Hex, size)
}

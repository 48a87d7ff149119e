package pull

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// source is the place that an image comes from. It brings content into the store.
type source interface {
	// resolve returns the manifest or index of a reference.
	resolve(ctx context.Context, reference name.Reference) (v1.Descriptor, error)
	// manifest and blob bring content into the store if it is missing there, after a check of its digest and size. A size of 0
	// in the descriptor of a manifest is unknown. count receives the number of bytes.
	manifest(ctx context.Context, d v1.Descriptor) error
	blob(ctx context.Context, d v1.Descriptor, count func(int64)) error
}

// local is the store itself.
type local struct{ store *store.Store }

func (l local) resolve(_ context.Context, reference name.Reference) (v1.Descriptor, error) {
	return l.store.Resolve(reference.Name())
}

func (l local) manifest(ctx context.Context, d v1.Descriptor) error {
	return l.blob(ctx, d, func(int64) {})
}

func (l local) blob(ctx context.Context, d v1.Descriptor, count func(int64)) error {
	found, err := l.store.Keep(ctx, d.Digest)
	if err == nil && !found {
		err = fault.New(fault.NotFound, "blob "+d.Digest.String(), "the store does not contain it")
	}
	count(d.Size)
	return err
}

// small returns a manifest, index or configuration, and brings it into the store.
func (j *job) small(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	if d.Size > store.LargestManifest {
		return nil, fault.New(fault.TooLarge, j.object(), "its manifest or configuration has more than %d bytes", store.LargestManifest)
	}
	var err error
	if d.MediaType.IsIndex() || d.MediaType.IsImage() {
		err = j.source.manifest(ctx, d)
	} else {
		err = j.source.blob(ctx, d, func(int64) {})
	}
	if err != nil {
		return nil, err
	}
	return j.Store.Read(d.Digest)
}

// digestOf returns the digest of content.
func digestOf(content []byte) v1.Hash {
	sum := sha256.Sum256(content)
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
}

package images

import (
	"context"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// Grace is the age at which Clean removes content without a reference: a pull or push of a large image is faster.
const Grace = time.Hour

const (
	// Unused is the time without a pod after which Clean removes an image.
	Unused = 7 * 24 * time.Hour
	// Scarce is the free space in bytes below which the disk is nearly full.
	Scarce = 4 << 30
)

// NearlyFull reports whether the disk of the images is nearly full.
func (i *Images) NearlyFull() (bool, error) {
	free, err := i.puller.Store.Free()
	return free < Scarce, err
}

// Clean removes the images that no pod has used for the time Unused, or since an hour ago if the disk is full, and the content
// that nothing needs. It keeps images of running pods, and pinned ones. Pushes pin each image also by its digest: Clean
// removes such a reference like an image that is not pinned, unless a tag stands for the same image.
func (i *Images) Clean(ctx context.Context, full bool) (store.Collected, error) {
	return i.clean(ctx, full, time.Now())
}

// clean is Clean at a time.
func (i *Images) clean(ctx context.Context, full bool, now time.Time) (store.Collected, error) {
	references, err := i.puller.Store.References()
	if err != nil {
		return store.Collected{}, err
	}
	tagged := map[v1.Hash]bool{}
	for _, r := range references {
		if r.Pinned && !isDigest(r.Name) {
			tagged[r.Target.Digest] = true
		}
	}
	oldest := now.Add(-Unused)
	if full {
		oldest = now.Add(-2 * time.Hour) // The time of the use is rounded down to an hour.
	}
	return i.puller.Store.Collect(ctx, func(r store.Reference) bool {
		pinned := r.Pinned && (!isDigest(r.Name) || tagged[r.Target.Digest])
		return pinned || r.Used.After(oldest)
	}, Grace)
}

// isDigest reports whether a complete name ends with a digest.
func isDigest(reference string) bool {
	_, err := name.NewDigest(reference)
	return err == nil
}

package desk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// Pull pulls an image with the credentials of the user for the pods of namespaces, or for those of all namespaces without
// any.
func (d *Desk) Pull(ctx context.Context, reference string, namespaces ...string) (Image, error) {
	if len(namespaces) == 0 {
		namespaces = []string{store.Everyone}
	}
	pulled, err := d.images.PullAs(ctx, reference, d.keychain, store.Marks{Users: namespaces, Pinned: true, Used: time.Now()}, d.progress)
	if err != nil {
		return Image{}, err
	}
	found, err := d.list(func(r store.Reference) bool { return r.Name == pulled.Name })
	if err != nil || len(found) == 0 {
		return Image{}, err
	}
	return found[0], nil
}

// List returns the images of the home, sorted by reference. It omits the digests of the home's registry whose image has a
// tag.
func (d *Desk) List() ([]Image, error) {
	references, err := d.images.Store().References()
	if err != nil {
		return nil, err
	}
	tagged := map[v1.Hash]bool{}
	for _, r := range references {
		tagged[r.Target.Digest] = tagged[r.Target.Digest] || !isDigest(r.Name)
	}
	return d.list(func(r store.Reference) bool { return !isDigest(r.Name) || !tagged[r.Target.Digest] })
}

func isDigest(reference string) bool {
	_, err := name.NewDigest(reference)
	return err == nil
}

// list describes the images of some references.
func (d *Desk) list(wanted func(store.Reference) bool) ([]Image, error) {
	references, err := d.images.Store().References()
	if err != nil {
		return nil, err
	}
	found := []Image{}
	for _, r := range references {
		if !wanted(r) {
			continue
		}
		image := Image{Reference: r.Name, Digest: r.Target.Digest.String(), Namespaces: r.Users, Kept: r.Pinned}
		if at := images.Namespace(r.Name); at != "" {
			image.Namespaces = []string{at}
		}
		if image.Namespaces == nil {
			image.Namespaces = []string{}
		}
		if !r.Used.IsZero() {
			used := r.Used.Truncate(time.Hour)
			image.Used = &used
		}
		if image.Bytes, err = d.size(r.Target); err != nil {
			return nil, fmt.Errorf("image %s: %w", r.Name, err)
		}
		found = append(found, image)
	}
	return found, nil
}

// size returns the size of an image on the disk.
func (d *Desk) size(target v1.Descriptor) (int64, error) {
	s := d.images.Store()
	var compressed, unpacked int64
	err := s.Reachable(target, func(b v1.Descriptor) {
		if size, found := s.Has(b.Digest); found {
			compressed += size
		}
		if info, err := os.Stat(s.Image(b.Digest)); err == nil {
			unpacked += info.Size()
		}
	})
	return max(compressed, unpacked), err
}

// Remove removes references, and then the content that nothing needs. Running pods keep their images. A missing reference is
// an error of kind NotFound. A later garbage collection removes content that is younger than an hour.
func (d *Desk) Remove(ctx context.Context, references ...string) (store.Collected, error) {
	s := d.images.Store()
	var names []string
	for _, reference := range references {
		parsed, err := pull.Parse(reference)
		if err != nil {
			return store.Collected{}, err
		}
		target, err := s.Resolve(parsed.Name())
		if err != nil {
			return store.Collected{}, err
		}
		names = append(names, parsed.Name())
		if byDigest := parsed.Context().Digest(target.Digest.String()); !d.tagged(parsed.Context(), target.Digest, names) {
			names = append(names, byDigest.Name())
		}
	}
	if err := s.Forget(ctx, names...); err != nil {
		return store.Collected{}, err
	}
	return s.Collect(ctx, nil, images.Grace)
}

// tagged reports whether a tag of a repository, apart from some, stands for an image.
func (d *Desk) tagged(repository name.Repository, digest v1.Hash, except []string) bool {
	references, _ := d.images.Store().References()
	return slices.ContainsFunc(references, func(r store.Reference) bool {
		tag, err := name.NewTag(r.Name)
		return err == nil && tag.Context() == repository && r.Target.Digest == digest && !slices.Contains(except, r.Name)
	})
}

// Bundle writes images to a file for a machine without network, and returns them. It pulls an image if the home does not contain
// the image or its layers.
func (d *Desk) Bundle(ctx context.Context, path string, references ...string) ([]Image, error) {
	var names []string
	for _, reference := range references {
		parsed, err := pull.Parse(reference)
		if err != nil {
			return nil, err
		}
		names = append(names, parsed.Name())
		if images.Namespace(parsed.Name()) != "" || d.whole(parsed.Name()) {
			continue
		}
		if _, err := d.Pull(ctx, reference); err != nil {
			return nil, err
		}
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return nil, fmt.Errorf("write the bundle: %w", err)
	}
	defer os.Remove(file.Name())
	err = bundle.Export(ctx, d.images.Store(), file, references...)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("write the bundle %s: %w", path, store.Explain("bundle", err))
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return nil, fmt.Errorf("write the bundle: %w", err)
	}
	return d.list(func(r store.Reference) bool { return slices.Contains(names, r.Name) })
}

// whole reports whether the store contains an image with its layers.
func (d *Desk) whole(reference string) bool {
	s := d.images.Store()
	target, err := s.Resolve(reference)
	if err != nil {
		return false
	}
	whole := true
	err = s.Reachable(target, func(b v1.Descriptor) {
		if _, found := s.Has(b.Digest); !found && !b.MediaType.IsImage() && !b.MediaType.IsIndex() {
			whole = false
		}
	})
	return err == nil && whole
}

// Load adds the images of a bundle, for all namespaces, and unpacks them.
func (d *Desk) Load(ctx context.Context, path string) ([]Image, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	names, err := bundle.Import(ctx, d.images.Store(), file, images.Compressed)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	for _, reference := range names {
		if _, err := d.images.Get(ctx, reference); err != nil && fault.Of(err) != fault.Platform {
			return nil, fmt.Errorf("load %s: %w", path, err)
		}
	}
	return d.list(func(r store.Reference) bool { return slices.Contains(names, r.Name) })
}

// Package desk implements the platform engineer's operations on the images of a home: push, pull, list, remove, and move
// them between machines. It works on the folder of the images, with and without a running platform.
package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/credentials"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// Desk works on the images of a home.
type Desk struct {
	images   *images.Images
	keychain authn.Keychain
	progress func(pull.Event)
}

// Open opens the images in a folder, with the credentials of the user of this process. progress may be nil.
func Open(dir string, progress func(pull.Event)) (*Desk, error) {
	kept, err := images.Open(dir, images.Options{Registry: images.Host})
	if err != nil {
		return nil, err
	}
	return &Desk{images: kept, keychain: credentials.User(), progress: progress}, nil
}

// Image describes an image in the home.
type Image struct {
	// Reference is the name of the image in a Deployment.
	Reference string `json:"reference"`
	// Digest is that of the manifest.
	Digest string `json:"digest"`
	// Bytes is the size of the image on the disk: unpacked, or compressed if it is not unpacked.
	Bytes int64 `json:"bytes"`
	// Namespaces may use the image. ["*"] means all.
	Namespaces []string `json:"namespaces"`
	// Kept says that a person pushed or pulled the image: only `strata image remove` removes it.
	Kept bool `json:"kept"`
	// Used is the time of the last use by a pod, rounded down to an hour. It is omitted before the first use.
	Used *time.Time `json:"used,omitempty"`
}

// Push copies images into the home's registry, below a namespace. The source is a file of docker save or of an OCI layout, a
// folder with an OCI layout, "-" for such a file in stdin, or a reference in another registry. as is the repository and tag
// below the namespace; if it is empty, the source's own name decides. Push unpacks each image, which checks it completely.
func (d *Desk) Push(ctx context.Context, source string, stdin io.Reader, namespace, as string) ([]Image, error) {
	found, err := d.read(ctx, source, stdin)
	if err != nil {
		return nil, err
	}
	if as != "" && len(found) != 1 {
		return nil, fmt.Errorf("push %s: it contains %d images, and the name %s is for one: omit the name", source, len(found), as)
	}
	var references []string
	for _, c := range found {
		own := as
		if own == "" {
			own = c.Name[strings.LastIndex(c.Name, "/")+1:]
		}
		target, err := homeName(namespace, own)
		if err != nil {
			return nil, fmt.Errorf("push %s: %w", source, err)
		}
		if err := d.put(ctx, target, c); err != nil {
			return nil, fmt.Errorf("push %s: %w", source, err)
		}
		references = append(references, target.Name())
	}
	return d.list(func(r store.Reference) bool { return slices.Contains(references, r.Name) })
}

// put makes an image of the store the target of a tag, after it is unpacked.
func (d *Desk) put(ctx context.Context, tag name.Tag, c bundle.Content) error {
	s, marks := d.images.Store(), store.Marks{Pinned: true, Used: time.Now()}
	byDigest := tag.Context().Digest(c.Target.Digest.String()).Name()
	_, missing := s.Resolve(byDigest)
	if err := s.Refer(ctx, store.Reference{Name: byDigest, Target: c.Target, Marks: marks}); err != nil {
		return err
	}
	if _, err := d.images.Get(ctx, byDigest); err != nil {
		if missing != nil {
			err = errors.Join(err, s.Forget(ctx, byDigest))
		}
		return err
	}
	return s.Refer(ctx, store.Reference{Name: tag.Name(), Target: c.Target, Marks: marks})
}

// homeName returns the complete name of a repository and tag below a namespace.
func homeName(namespace, own string) (name.Tag, error) {
	prefix := images.Host + "/" + namespace + "/"
	text := prefix + strings.TrimPrefix(own, prefix)
	tag, err := name.NewTag(text, name.WithDefaultTag("latest"))
	if own == "" || err != nil || !images.Within(tag.RepositoryStr(), namespace) || strings.Contains(own, "@") || strings.HasPrefix(own, images.Host) && !strings.HasPrefix(own, prefix) {
		return tag, &fault.Error{Kind: fault.InvalidName, Object: "name " + fmt.Sprintf("%q", own), Why: "this is not a repository and tag below " + prefix,
			Next: "name the image, for example app:v1"}
	}
	return tag, nil
}

// read brings the images of a source into the store.
func (d *Desk) read(ctx context.Context, source string, stdin io.Reader) ([]bundle.Content, error) {
	if source == "-" {
		return d.readStream(ctx, stdin)
	}
	info, err := os.Stat(source)
	switch {
	case err == nil && info.IsDir():
		return d.readFolder(ctx, source)
	case err == nil:
		return d.readFile(ctx, source)
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	case strings.HasPrefix(source, "/"), strings.HasPrefix(source, "."), strings.HasSuffix(source, ".tar"):
		return nil, fmt.Errorf("the file %s does not exist: give an archive of docker save, a folder with an OCI layout, or a reference", source)
	}
	parsed, err := pull.Parse(source)
	if err != nil {
		return nil, err
	}
	_, missing := d.images.Store().Resolve(parsed.Name())
	pulled, err := d.images.PullAs(ctx, source, d.keychain, store.Marks{Pinned: true}, d.progress)
	if err != nil {
		return nil, err
	}
	if missing != nil {
		// The name in the home's registry is the only one that the caller wants.
		if err := d.images.Store().Forget(ctx, pulled.Name); err != nil {
			return nil, err
		}
	}
	return []bundle.Content{{Name: pulled.Name, Target: pulled.Manifest}}, nil
}

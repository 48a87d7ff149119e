// Package images keeps the images of a home: it pulls them, unpacks them for sandboxes, and says what they run.
package images

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/config"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
	"github.com/strata-platform/strata/internal/local/machine/images/unpack"
)

// The default limits of one image: the largest images in use have about 20 GB and 500,000 entries.
const (
	Compressed = 16 << 30
	Unpacked   = 32 << 30
	Entries    = 1_000_000
)

// Options are the settings of a home's images. The zero value is usable.
type Options struct {
	// Registry is the name of the home's registry in references: Host. It may be empty.
	Registry string
	// Compressed bounds the layers of an image in bytes. Zero means Compressed.
	Compressed int64
	// Unpacked bounds an image after decompression. Zero fields mean Unpacked and Entries.
	Unpacked unpack.Limits
	// Transport sends requests to registries. Nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// Images are the images of a home. Its methods are safe for concurrent use.
type Images struct{ puller pull.Puller }

// Open opens the images in a folder, and creates it if it does not exist.
func Open(dir string, options Options) (*Images, error) {
	s, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	puller := pull.Puller{Store: s, Compressed: options.Compressed, Unpacked: options.Unpacked, Home: options.Registry, Transport: options.Transport}
	if puller.Compressed == 0 {
		puller.Compressed = Compressed
	}
	if puller.Unpacked.Bytes == 0 {
		puller.Unpacked.Bytes = Unpacked
	}
	if puller.Unpacked.Entries == 0 {
		puller.Unpacked.Entries = Entries
	}
	return &Images{puller}, nil
}

// Store returns the store, for a registry or a bundle.
func (i *Images) Store() *store.Store { return i.puller.Store }

// Image is a complete image.
type Image struct {
	// Name is the complete reference.
	Name string
	// Manifest is the manifest of this machine's platform.
	Manifest v1.Descriptor
	// ID is the digest of the configuration.
	ID v1.Hash
	// Path is the EROFS file.
	Path string
	// Config says what containers run.
	Config config.Config
	// Contents describes the files.
	Contents unpack.Contents
}

// Pull brings an image into the home, see pull.Puller. All namespaces may use it. The keychain and progress may be nil.
func (i *Images) Pull(ctx context.Context, reference string, keychain authn.Keychain, progress func(pull.Event)) (Image, error) {
	return i.PullAs(ctx, reference, keychain, store.Marks{Users: []string{store.Everyone}}, progress)
}

// PullAs is Pull for the users in marks. An image that the registry gives to everyone is for everyone. A pinned image keeps
// its layers.
func (i *Images) PullAs(ctx context.Context, reference string, keychain authn.Keychain, marks store.Marks, progress func(pull.Event)) (Image, error) {
	puller := i.puller
	puller.Marks, puller.Layers = marks, marks.Pinned
	pulled, err := puller.Pull(ctx, reference, keychain, progress)
	if err != nil {
		return Image{}, err
	}
	return i.describe(pulled)
}

// Get returns an image of the home without a registry. A missing image is an error of kind fault.NotFound.
func (i *Images) Get(ctx context.Context, reference string) (Image, error) {
	pulled, err := i.puller.Get(ctx, reference, nil)
	if err != nil {
		return Image{}, err
	}
	return i.describe(pulled)
}

// describe reads the configuration and the contents of an image.
func (i *Images) describe(pulled pull.Pulled) (Image, error) {
	s := i.puller.Store
	image := Image{Name: pulled.Name, Manifest: pulled.Manifest, ID: pulled.Config, Path: s.Image(pulled.Config)}
	content, err := s.Read(pulled.Config)
	if err != nil {
		return Image{}, err
	}
	if image.Config, err = config.Decode(content); err != nil {
		return Image{}, err
	}
	about, err := os.ReadFile(s.About(pulled.Config))
	if err != nil {
		return Image{}, fmt.Errorf("image %s: read its description: %w", pulled.Name, err)
	}
	if err := json.Unmarshal(about, &image.Contents); err != nil {
		return Image{}, fmt.Errorf("image %s: decode its description: %w", pulled.Name, err)
	}
	return image, nil
}

// User resolves a user in the image: the one of the configuration, or another with names from the image.
func (i Image) User(user string) (config.User, error) {
	return config.UserOf(user, i.Contents.Passwd, i.Contents.Group)
}

// Lease protects an image from Collect until the lease is closed, or all processes that hold it have ended.
func (i *Images) Lease(ctx context.Context, image Image) (*store.Lease, error) {
	return i.puller.Store.Lease(ctx, image.Manifest, image.ID)
}

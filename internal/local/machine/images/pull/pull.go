// Package pull brings images into the store: it downloads them from a registry, verifies them, and unpacks them.
package pull

import (
	"context"
	"net/http"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
	"github.com/strata-platform/strata/internal/local/machine/images/unpack"
)

// Puller pulls images into one store. Its methods are safe for concurrent use, even by several processes with the same store.
type Puller struct {
	Store *store.Store
	// Compressed bounds the layers of an image before decompression, in bytes. Zero means no limit.
	Compressed int64
	// Unpacked bounds the image after decompression.
	Unpacked unpack.Limits
	// Home is the registry that the store serves itself, such as "localhost:5000": its images need no download. It may be empty.
	Home string
	// Fresh asks the registry even for a digest that the store contains, so that the registry checks the credentials.
	Fresh bool
	// Layers brings the layers of an image into the store even if the image is unpacked already, for a bundle.
	Layers bool
	// Marks are those of a pulled image. A pull without credentials allows everyone to use it.
	Marks store.Marks
	// Transport sends the requests. Nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// Step is a part of a pull.
type Step string

// The steps, in their order.
const (
	Resolving   Step = "resolve"
	Downloading Step = "download"
	Unpacking   Step = "unpack"
)

// Event is the progress of a pull.
type Event struct {
	// Reference is the complete name of the image.
	Reference string
	Step      Step
	// Done and Total are bytes of compressed layers. Both are 0 while resolving.
	Done, Total int64
}

// Pulled is an image that is complete in the store.
type Pulled struct {
	// Name is the complete reference.
	Name string
	// Manifest is that of this machine's platform, not that of an index.
	Manifest v1.Descriptor
	// Config is the digest of the image's configuration, which identifies its EROFS file.
	Config v1.Hash
}

// job is one pull.
type job struct {
	Puller
	reference name.Reference
	source    source
	mutex     sync.Mutex
	progress  func(Event)
	event     Event
}

// object names the image in errors.
func (j *job) object() string { return "image " + j.reference.Name() }

// report calls progress after a change of the event, never concurrently.
func (j *job) report(change func(*Event)) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	change(&j.event)
	if j.progress != nil {
		j.progress(j.event)
	}
}

// Parse returns the complete name of a reference, such as "index.docker.io/library/web:latest" for "web". Errors have the kind
// InvalidName.
func Parse(reference string) (name.Reference, error) {
	parsed, err := name.ParseReference(reference)
	if err != nil {
		return nil, &fault.Error{Kind: fault.InvalidName, Object: "image " + quoted(reference), Why: "this is not the name of an image",
			Next: "write REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:DIGEST"}
	}
	return parsed, nil
}

// Pull brings an image into the store, unpacks it, and makes the reference point to it. A reference with a digest that the
// store contains needs no registry, and an image that is unpacked needs no layers. The keychain may be nil. After a failure, the store has no reference to the image; complete
// layers stay for the next attempt, and an interrupted download continues.
//
// Errors have a kind of package fault, or are those of ctx and the disk.
func (p Puller) Pull(ctx context.Context, reference string, keychain authn.Keychain, progress func(Event)) (Pulled, error) {
	j, err := p.job(reference, progress)
	if err != nil {
		return Pulled{}, err
	}
	_, isDigest := j.reference.(name.Digest)
	_, notStored := p.Store.Resolve(j.reference.Name())
	if j.reference.Context().RegistryStr() != p.Home && (!isDigest || notStored != nil || p.Fresh) {
		j.source = &remote{puller: p, reference: j.reference, keychain: keychain}
	}
	return j.run(ctx)
}

// Get returns an image of the store without a registry, and unpacks it if necessary. A missing image is an error of kind
// NotFound.
func (p Puller) Get(ctx context.Context, reference string, progress func(Event)) (Pulled, error) {
	j, err := p.job(reference, progress)
	if err != nil {
		return Pulled{}, err
	}
	return j.run(ctx)
}

// job returns a job that uses only the store.
func (p Puller) job(reference string, progress func(Event)) (*job, error) {
	parsed, err := Parse(reference)
	if err != nil {
		return nil, err
	}
	return &job{Puller: p, reference: parsed, source: local{p.Store}, progress: progress, event: Event{Reference: parsed.Name()}}, nil
}

// run executes the steps.
func (j *job) run(ctx context.Context) (Pulled, error) {
	j.report(func(e *Event) { e.Step = Resolving })
	pulled := Pulled{Name: j.reference.Name()}
	top, err := j.source.resolve(ctx, j.reference)
	if err != nil {
		return pulled, err
	}
	var manifest *v1.Manifest
	if pulled.Manifest, manifest, err = j.manifest(ctx, top); err != nil {
		return pulled, err
	}
	pulled.Config = manifest.Config.Digest
	config, err := j.config(ctx, manifest)
	if err != nil {
		return pulled, err
	}
	unpacked, err := j.Store.KeepImage(ctx, pulled.Config)
	if err != nil {
		return pulled, err
	}
	if !unpacked || j.Layers {
		if err := j.download(ctx, manifest.Layers); err != nil {
			return pulled, err
		}
	}
	if err := j.unpack(ctx, manifest, config); err != nil {
		return pulled, err
	}
	from, isRemote := j.source.(*remote)
	if !isRemote {
		return pulled, nil
	}
	marks := j.Marks
	if from.anonymous {
		marks.Users = []string{store.Everyone}
	}
	return pulled, j.Store.Refer(ctx, store.Reference{Name: pulled.Name, Target: pulled.Manifest, Marks: marks})
}

// download brings the missing layers into the store, several at once.
func (j *job) download(ctx context.Context, layers []v1.Descriptor) error {
	var total, missing int64
	for _, layer := range layers {
		if layer.Size < 0 {
			return j.corrupt("its manifest contains a negative size", nil)
		}
		total += layer.Size
		if _, found := j.Store.Has(layer.Digest); !found {
			missing += layer.Size
		}
		if j.Compressed > 0 && total > j.Compressed {
			return fault.New(fault.TooLarge, j.object(), "its layers have more than %d MB, the limit of this machine", j.Compressed>>20)
		}
	}
	if missing > 0 {
		if err := j.Store.Space(j.object(), missing); err != nil {
			return err
		}
	}
	j.report(func(e *Event) { e.Step, e.Total = Downloading, total })
	group, ctx := errgroup.WithContext(ctx)
	const atOnce = 3
	group.SetLimit(atOnce)
	for _, layer := range layers {
		group.Go(func() error {
			return j.source.blob(ctx, layer, func(n int64) { j.report(func(e *Event) { e.Done += n }) })
		})
	}
	return group.Wait()
}

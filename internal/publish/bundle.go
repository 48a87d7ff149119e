package publish

import (
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"

	"github.com/strata-platform/strata/internal/publish/keyless"
)

// Annotations of a manifest with a bundle, as cosign 3 writes them.
const (
	bundleContentAnnotation   = "dev.sigstore.bundle.content"
	bundlePredicateAnnotation = "dev.sigstore.bundle.predicateType"
)

// pushBundle signs the provenance of an artifact by an identity, and pushes it as a referrer of the artifact. The signed statement names
// the digest of the artifact, and source-controller compares the two. A signature in a tag would not have this property: see decision
// 39. So an artifact that an identity signs has no such tag.
func (p publication) pushBundle(ctx context.Context, made v1.Image, digest v1.Hash, predicate any) (keyless.Identity, error) {
	statement, err := statementOf(p.repository.Name(), digest, predicate)
	if err != nil {
		return keyless.Identity{}, err
	}
	content, by, err := p.Keyless.Sign(ctx, statementType, statement)
	if err != nil {
		return by, err
	}
	subject, err := partial.Descriptor(made)
	if err != nil {
		return by, err
	}
	bundle, err := image(keyless.MediaType, mutate.Addendum{Layer: static.NewLayer(content, keyless.MediaType)}, map[string]string{
		bundleContentAnnotation: "dsse-envelope", bundlePredicateAnnotation: provenanceType,
	})
	if err != nil {
		return by, err
	}
	// Subject keeps the type of its argument.
	bundle = mutate.Subject(bundle, *subject).(v1.Image)
	at, err := bundle.Digest()
	if err != nil {
		return by, err
	}
	if err := remote.Write(p.repository.Digest(at.String()), bundle, p.remote...); err != nil {
		return by, fmt.Errorf("push the bundle of the signature: %w", err)
	}
	return by, nil
}

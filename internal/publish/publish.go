// Package publish packs a tree as an artifact for Flux, signs it in cosign's format, attaches its provenance, and pushes it to
// a registry.
//
// Flux follows the highest version in the repository. The version is part of the signed manifest, so that nobody without the key
// can give an older artifact a higher version (docs/decisions/0039-published-artifacts.md).
package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/strata-platform/strata/internal/publish/keyless"
	"github.com/strata-platform/strata/internal/signing"
)

// Options describe a publication. Dir and Repository are required, and either Key or Keyless.
type Options struct {
	// Dir is the folder with the tree.
	Dir string
	// Folders are the folders of the tree that the artifact contains, with slashes; none means all.
	Folders []string
	// Repository is the repository in the registry, such as "registry.example.com/team-web/deploy".
	Repository string
	// Insecure uses HTTP.
	Insecure bool
	// Login logs in at the registry; nil means the credentials of Docker's configuration.
	Login authn.Authenticator
	// Version is the version of the artifact, such as "1.4.0"; empty means the next patch of the highest version in the
	// repository, or the highest version itself if it has the same tree.
	Version string
	// Key signs.
	Key *signing.Key
	// Keyless signs by an identity.
	Keyless *keyless.Signer
}

// Result describes a published artifact.
type Result struct {
	// Reference is the artifact with its digest, such as "registry.example.com/team-web/deploy:0.0.1@sha256:...".
	Reference string `json:"reference"`
	Version   string `json:"version"`
	Digest    string `json:"digest"`
	// Published is false if the repository contained the artifact already.
	Published bool `json:"published"`
	// Key is the fingerprint of the public key; empty if an identity has signed.
	Key string `json:"key"`
	// Identity is the identity that has signed; nil if a key has signed, or if the repository contained the artifact already.
	Identity *keyless.Identity `json:"identity,omitempty"`
	Origin   Origin            `json:"origin"`
	Files    int               `json:"files"`
}

// first is the first version that Publish chooses.
const first = "0.0.1"

// Publish publishes a tree. The version's tag is pushed last, so that Flux never finds an unsigned artifact.
func Publish(ctx context.Context, o Options) (Result, error) {
	var options []name.Option
	if o.Insecure {
		options = append(options, name.Insecure)
	}
	repository, err := name.NewRepository(o.Repository, options...)
	if err != nil {
		return Result{}, fmt.Errorf("publish %s: %w", o.Dir, err)
	}
	p := publication{Options: o, repository: repository, remote: []remote.Option{remote.WithContext(ctx)}}
	if o.Login != nil {
		p.remote = append(p.remote, remote.WithAuth(o.Login))
	} else {
		p.remote = append(p.remote, remote.WithAuthFromKeychain(authn.DefaultKeychain))
	}
	result, err := p.run(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("publish %s to %s: %w", o.Dir, o.Repository, explained(err))
	}
	return result, nil
}

// publication is one call of Publish.
type publication struct {
	Options
	repository name.Repository
	remote     []remote.Option
}

func (p publication) run(ctx context.Context) (Result, error) {
	folders := p.Folders
	if len(folders) == 0 {
		folders = []string{"."}
	}
	tree, err := read(p.Dir, folders)
	if err != nil {
		return Result{}, err
	}
	layer, err := pack(tree.files)
	if err != nil {
		return Result{}, err
	}
	origin := originOf(ctx, p.Dir, tree)
	for range mostAttempts {
		result, err := p.attempt(ctx, layer, origin)
		if result.Files = len(tree.files); !errors.Is(err, errTaken) {
			return result, err
		}
		// The next attempt finds the other artifact, and chooses a higher version, or refuses the version of the options.
	}
	return Result{}, fmt.Errorf("other publications have taken %d versions meanwhile: publish again", mostAttempts)
}

// attempt publishes the layer under one version. It returns errTaken if another publication takes the version meanwhile.
func (p publication) attempt(ctx context.Context, layer []byte, origin Origin) (Result, error) {
	version, existing, err := p.choose(layer, origin)
	if err != nil {
		return Result{}, err
	}
	made, err := artifact(layer, version, origin.revision())
	if err != nil {
		return Result{}, err
	}
	digest, err := made.Digest()
	if err != nil {
		return Result{}, err
	}
	if existing != (v1.Hash{}) && existing != digest {
		return Result{}, fmt.Errorf("version %s exists with other content, and Flux refuses a version that changes: publish a higher version", version)
	}
	result := Result{
		Reference: p.repository.Name() + ":" + version + "@" + digest.String(), Version: version, Digest: digest.String(),
		Published: existing == v1.Hash{}, Origin: origin,
	}
	if p.Keyless == nil {
		if result.Key, err = p.Key.Fingerprint(); err != nil {
			return Result{}, err
		}
		return result, p.push(made, digest, version, origin)
	}
	if !result.Published {
		// The tag is pushed last, so the artifact has its bundle. Each further one would be an entry in a public log.
		return result, nil
	}
	if err := remote.Write(p.repository.Digest(digest.String()), made, p.remote...); err != nil {
		return Result{}, err
	}
	by, err := p.pushBundle(ctx, made, digest, provenance(version, origin))
	if err != nil {
		return Result{}, err
	}
	result.Identity = &by
	return result, p.tag(made, digest, version)
}

// push pushes the artifact, its signature and its provenance, and then the tag.
func (p publication) push(made v1.Image, digest v1.Hash, version string, origin Origin) error {
	signature, err := sign(p.Key, p.repository.Name(), digest)
	if err != nil {
		return err
	}
	attestation, err := attest(p.Key, p.repository.Name(), digest, provenance(version, origin))
	if err != nil {
		return err
	}
	for _, each := range []struct {
		at    name.Reference
		image v1.Image
	}{
		{p.repository.Digest(digest.String()), made},
		{companion(p.repository, digest, "sig"), signature},
		{companion(p.repository, digest, "att"), attestation},
	} {
		if err := remote.Write(each.at, each.image, p.remote...); err != nil {
			return err
		}
	}
	return p.tag(made, digest, version)
}

// missing reports whether an error says that the registry does not contain the object.
func missing(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

// explained turns the answer of a registry into one line.
func explained(err error) error {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return err
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return errors.New("the registry does not accept the login: log in again")
	case http.StatusForbidden:
		why := "the account may not push to this repository"
		if len(answer.Errors) > 0 && answer.Errors[0].Message != "" {
			why = answer.Errors[0].Message
		}
		return fmt.Errorf("the registry refuses the push: %s", why)
	}
	if len(answer.Errors) > 0 {
		return fmt.Errorf("the registry answers %d: %s", answer.StatusCode, answer.Errors[0].Message)
	}
	return fmt.Errorf("the registry answers %d", answer.StatusCode)
}

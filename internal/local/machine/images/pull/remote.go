package pull

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// remote is a repository in a registry.
type remote struct {
	puller    Puller
	reference name.Reference
	keychain  authn.Keychain

	login  sync.Mutex
	client *http.Client
	// anonymous says that the registry answers without credentials.
	anonymous bool
	// secrets are words that errors must not contain.
	secrets []string
}

// connect logs in with the first request and returns the client of all requests.
func (r *remote) connect(ctx context.Context) (*http.Client, error) {
	r.login.Lock()
	defer r.login.Unlock()
	if r.client != nil {
		return r.client, nil
	}
	repository := r.reference.Context()
	authenticator := authn.Anonymous
	if r.keychain != nil {
		found, err := authn.Resolve(ctx, r.keychain, repository)
		if err != nil {
			return nil, &fault.Error{Kind: fault.Denied, Object: r.object(), Why: "the credentials for its registry cannot be read", Cause: err}
		}
		authenticator = found
	}
	login, err := authn.Authorization(ctx, authenticator)
	if err != nil {
		return nil, fault.New(fault.Denied, r.object(), "the credentials for its registry cannot be read")
	}
	r.anonymous = *login == authn.AuthConfig{}
	r.secrets = []string{login.Password, login.Auth, login.IdentityToken, login.RegistryToken}
	base := r.puller.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	logged, err := transport.NewWithContext(ctx, repository.Registry, authenticator, base, []string{repository.Scope(transport.PullScope)})
	if err != nil {
		return nil, r.explain(ctx, err)
	}
	r.client = &http.Client{Transport: logged}
	return r.client, nil
}

// get sends a request for a path below the repository. The caller closes the body of a response without an error.
func (r *remote) get(ctx context.Context, path string, header http.Header, accepted ...int) (*http.Response, error) {
	client, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	repository := r.reference.Context()
	url := fmt.Sprintf("%s://%s/v2/%s/%s", repository.Scheme(), repository.RegistryStr(), repository.RepositoryStr(), path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header
	response, err := client.Do(request)
	if err != nil {
		return nil, r.explain(ctx, err)
	}
	if err := transport.CheckError(response, accepted...); err != nil {
		response.Body.Close()
		return nil, r.explain(ctx, err)
	}
	return response, nil
}

// resolve fetches the manifest of the reference and puts it into the store.
func (r *remote) resolve(ctx context.Context, reference name.Reference) (v1.Descriptor, error) {
	content, kind, err := r.fetch(ctx, reference.Identifier())
	if err != nil {
		return v1.Descriptor{}, err
	}
	if digest, ok := reference.(name.Digest); ok && digest.DigestStr() != digestOf(content).String() {
		return v1.Descriptor{}, r.lie("the registry answers with the digest %s", digestOf(content))
	}
	digest, err := r.puller.Store.Put(ctx, content)
	return v1.Descriptor{MediaType: kind, Digest: digest, Size: int64(len(content))}, err
}

// fetch returns a manifest and its type.
func (r *remote) fetch(ctx context.Context, identifier string) ([]byte, types.MediaType, error) {
	accept := []string{string(types.OCIImageIndex), string(types.DockerManifestList), string(types.OCIManifestSchema1), string(types.DockerManifestSchema2)}
	response, err := r.get(ctx, "manifests/"+identifier, http.Header{"Accept": {strings.Join(accept, ",")}}, http.StatusOK)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, store.LargestManifest+1))
	if err != nil {
		return nil, "", r.explain(ctx, err)
	}
	if len(content) > store.LargestManifest {
		return nil, "", fault.New(fault.TooLarge, r.object(), "its manifest has more than %d bytes", store.LargestManifest)
	}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	return content, types.MediaType(strings.TrimSpace(kind)), nil
}

// manifest fetches a manifest by its digest.
func (r *remote) manifest(ctx context.Context, d v1.Descriptor) error {
	if found, err := r.puller.Store.Keep(ctx, d.Digest); found || err != nil {
		return err
	}
	content, _, err := r.fetch(ctx, d.Digest.String())
	if err != nil {
		return err
	}
	if got := digestOf(content); got != d.Digest {
		return r.lie("the manifest %s has the digest %s", d.Digest, got)
	}
	_, err = r.puller.Store.Put(ctx, content)
	return err
}

// object names the image in errors.
func (r *remote) object() string { return "image " + r.reference.Name() }

// lie returns the error for content that is not what the registry promised.
func (r *remote) lie(format string, arguments ...any) error {
	err := fault.New(fault.Corrupt, r.object(), format, arguments...)
	err.Next = "ask the operator of the registry to repair it"
	return err
}

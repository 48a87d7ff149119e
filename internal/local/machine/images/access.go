package images

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// Host is the name of the home's registry in references, the same in every home: registry.strata.local/NAMESPACE/NAME:TAG.
// It is no address. Clients other than the node reach the registry at its port on this machine.
const Host = "registry.strata.local"

// Shared is the first part of repositories of the home's registry that all namespaces may use.
const Shared = "shared"

// Within reports whether a repository of the home's registry belongs to a namespace, or to Shared: it is below its name.
func Within(repository, namespace string) bool {
	first, rest, _ := strings.Cut(repository, "/")
	// The name is no path, and a name that looks like that of another namespace misleads people.
	return first == namespace && rest != "" && !slices.Contains(strings.Split(rest, "/"), "..")
}

// View is the images that the pods of one namespace may use: those of the home's registry below its name and Shared, those
// that it has pulled with its own credentials, those that a registry gives to everyone, and those that the platform engineer
// has pulled or loaded for it.
type View struct {
	images    *Images
	namespace string
}

// For returns the view of a namespace.
func (i *Images) For(namespace string) View { return View{i, namespace} }

// Get is Images.Get. An image that only others may use is an error of kind NotFound, so that the caller pulls it, or of kind
// Denied if it is in the home's registry.
func (v View) Get(ctx context.Context, reference string) (Image, error) {
	atHome, err := v.home(reference)
	if err != nil {
		return Image{}, err
	}
	if !atHome {
		if err := v.may(reference); err != nil {
			return Image{}, err
		}
	}
	found, err := v.images.Get(ctx, reference)
	if err != nil {
		return Image{}, err
	}
	if !atHome {
		// The reference may have got another target since the first check.
		if err := v.may(reference); err != nil {
			return Image{}, err
		}
	}
	return found, v.images.Store().Use(ctx, found.Name)
}

// Pull is Images.Pull. The registry checks the credentials of the keychain even if the store contains the image, unless the
// namespace may use it already and its reference is a digest.
func (v View) Pull(ctx context.Context, reference string, keychain authn.Keychain, progress func(pull.Event)) (Image, error) {
	atHome, err := v.home(reference)
	if err != nil {
		return Image{}, err
	}
	puller := v.images.puller
	puller.Marks = store.Marks{Users: []string{v.namespace}, Used: time.Now()}
	puller.Fresh = !atHome && v.may(reference) != nil
	pulled, err := puller.Pull(ctx, reference, keychain, progress)
	if err != nil {
		return Image{}, err
	}
	found, err := v.images.describe(pulled)
	if err != nil {
		return Image{}, err
	}
	return found, v.images.Store().Use(ctx, found.Name)
}

// home reports whether a reference is one of the home's registry, and returns an error if the namespace may not use it.
func (v View) home(reference string) (bool, error) {
	parsed, err := pull.Parse(reference)
	if err != nil || parsed.Context().RegistryStr() != v.images.puller.Home {
		return false, err
	}
	repository := parsed.Context().RepositoryStr()
	if Within(repository, v.namespace) || Within(repository, Shared) {
		return true, nil
	}
	err = &fault.Error{Kind: fault.Denied, Object: "image " + parsed.Name(),
		Why:  "pods of namespace " + v.namespace + " may not use this repository of the home's registry",
		Next: "push it to " + Host + "/" + v.namespace + "/NAME, or to " + Host + "/" + Shared + "/NAME for all namespaces"}
	return true, err
}

// may returns an error of kind NotFound unless the namespace may use the image that a reference stands for.
func (v View) may(reference string) error {
	parsed, err := pull.Parse(reference)
	if err != nil {
		return err
	}
	found, err := v.images.Store().Reference(parsed.Name())
	if err == nil && !found.May(v.namespace) {
		err = fault.New(fault.NotFound, "image "+parsed.Name(), "namespace %s has not pulled it", v.namespace)
	}
	return err
}

// Namespace returns the first part of the repository of an image in the home's registry: a namespace, or Shared. It returns
// "" for other registries.
func Namespace(reference string) string {
	parsed, err := pull.Parse(reference)
	if err != nil || parsed.Context().RegistryStr() != Host {
		return ""
	}
	first, _, _ := strings.Cut(parsed.Context().RepositoryStr(), "/")
	return first
}

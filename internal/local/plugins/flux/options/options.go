// Package options contains the inputs of the plugin: the configuration of the provider and the inputs of
// FluxBootstrapGit.
package options

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
	"github.com/strata-platform/strata/internal/local/plugins/flux/repository"
)

// Defaults of the options, and the names of files.
const (
	// DefaultVersion is the release of Flux whose manifests the plugin contains.
	DefaultVersion = "v2.9.4"

	defaultBranch   = "main"
	defaultAuthor   = "Flux"
	defaultInterval = time.Minute

	// ComponentsFile and SyncFile are the names of the files with Flux's components and with its root sync.
	ComponentsFile = "gotk-components.yaml"
	SyncFile       = "gotk-sync.yaml"
)

// Options are the inputs of all operations: the Flux to install, its repository and its cluster.
type Options struct {
	Config
	// Install holds the inputs of the resource.
	Install Install
	// Manifests is the folder with the manifests of DefaultVersion. A subfolder with the name of another version
	// contains the manifests of that version. The plugin does not write to it.
	Manifests string
	// Logger receives the progress. Nil means no progress.
	Logger log.Logger
}

// Config is the provider's configuration.
type Config struct {
	Kubernetes cluster.Kubernetes `json:"kubernetes"`
	Git        repository.Git     `json:"git"`
}

// Validate returns an error for the first invalid option. The options must have their defaults.
func (o Options) Validate() error {
	if problems := o.Install.Validate(); len(problems) > 0 {
		return fmt.Errorf("%s: %s", problems[0].Property, problems[0].Reason)
	}
	switch {
	case o.Git.URL == "":
		return errors.New("the provider has no git.url: set it")
	case strings.HasPrefix(o.Git.URL, "https://"):
	case !strings.HasPrefix(o.Git.URL, "http://"):
		return errors.New("git.url is neither http nor https: the local flux plugin supports no other transport")
	case !o.Git.HTTP.AllowInsecureHTTP && o.Git.HTTP.Password != "":
		return errors.New("git.url is plain http and would expose the password: use https or set git.http.allowInsecureHttp")
	}
	return nil
}

// WithDefaults returns o with the defaults of empty options.
func (o Options) WithDefaults() Options {
	o.Install = o.Install.WithDefaults()
	o.Git.Branch = cmp.Or(o.Git.Branch, defaultBranch)
	o.Git.AuthorName = cmp.Or(o.Git.AuthorName, defaultAuthor)
	if o.Logger == nil {
		o.Logger = log.NopLogger{}
	}
	return o
}

// Components returns the components and the extra components, sorted, so that the order in the program has no effect.
func (o Options) Components() []string {
	all := slices.Concat(slices.Sorted(slices.Values(o.Install.Components)), slices.Sorted(slices.Values(o.Install.ComponentsExtras)))
	return slices.Compact(all)
}

// WithTimeout returns a context with a time limit in Go's notation, such as 30s, or else with the default limit.
func WithTimeout(ctx context.Context, wanted string, otherwise time.Duration) (context.Context, context.CancelFunc, error) {
	limit := otherwise
	if wanted != "" {
		var err error
		if limit, err = time.ParseDuration(wanted); err != nil {
			return nil, nil, fmt.Errorf("timeout %q: %w", wanted, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}

// Root returns the name of Flux's own GitRepository and Kustomization, the root sync.
func (o Options) Root() client.ObjectKey {
	return client.ObjectKey{Namespace: o.Install.Namespace, Name: o.Install.Namespace}
}

// Folder returns the path of Flux's files in the repository.
func (o Options) Folder() string { return path.Join(o.Install.Path, o.Install.Namespace) }

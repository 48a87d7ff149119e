// Package flux contains the local plugin that stands in for the Flux provider of Pulumi: the same resource,
// bootstrapped and uninstalled with Flux's own libraries, without downloads.
package flux

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/log"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/install"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/sync"
)

const (
	// DefaultVersion is the Flux release of the generated manifests.
	DefaultVersion = "v2.9.4"

	defaultBranch   = "main"
	defaultAuthor   = "Flux"
	defaultInterval = time.Minute

	componentsFile = "gotk-components.yaml"
	syncFile       = "gotk-sync.yaml"
)

// Options says what to install, through which repository and on which cluster.
type Options struct {
	Config
	// Install holds the inputs of the resource.
	Install Install
	// Manifests is the folder of generated manifests. A subfolder named like a version holds that version's manifests.
	// The folder itself holds DefaultVersion's. The plugin only reads it.
	Manifests string
	// Logger receives the progress. It may be nil.
	Logger log.Logger
}

// Config is the provider's configuration.
type Config struct {
	Kubernetes Kubernetes `json:"kubernetes"`
	Git        Git        `json:"git"`
}

// Git describes the repository that Strata pushes the manifests to and that Flux syncs from.
type Git struct {
	// URL is the repository's URL, http or https. Required.
	URL string `json:"url"`
	// Branch is "main" by default.
	Branch string `json:"branch"`
	// AuthorName is "Flux" by default.
	AuthorName  string `json:"authorName"`
	AuthorEmail string `json:"authorEmail"`
	// CommitMessageAppendix ends every commit message.
	CommitMessageAppendix string `json:"commitMessageAppendix"`
	HTTP                  HTTP   `json:"http"`
}

// HTTP holds the credentials of an http or https repository.
type HTTP struct {
	Username             string `json:"username"`
	Password             string `json:"password"`
	AllowInsecureHTTP    bool   `json:"allowInsecureHttp"`
	CertificateAuthority string `json:"certificateAuthority"`
}

// validate returns the first reason why Bootstrap cannot work with o.
func (o Options) validate() error {
	if problems := o.Install.Validate(); len(problems) > 0 {
		return fmt.Errorf("%s: %s", problems[0].Property, problems[0].Reason)
	}
	switch {
	case o.Git.URL == "":
		return errors.New("the provider has no git.url: set it")
	case strings.HasPrefix(o.Git.URL, "https://"):
	case !strings.HasPrefix(o.Git.URL, "http://"):
		return errors.New("git.url is neither http nor https: the local flux plugin knows no other transport")
	case !o.Git.HTTP.AllowInsecureHTTP && o.Git.HTTP.Password != "":
		return errors.New("git.url is plain http and would show the password: use https or set git.http.allowInsecureHttp")
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Install = o.Install.withDefaults()
	o.Git.Branch = or(o.Git.Branch, defaultBranch)
	o.Git.AuthorName = or(o.Git.AuthorName, defaultAuthor)
	if o.Logger == nil {
		o.Logger = log.NopLogger{}
	}
	return o
}

// installOptions returns the options of Flux's generator of install manifests.
func (o Options) installOptions() install.Options {
	opts := install.MakeDefaultOptions()
	opts.ClusterDomain = o.Install.ClusterDomain
	opts.Components = o.components()
	opts.ComponentsExtra = nil
	opts.ImagePullSecret = o.Install.ImagePullSecret
	opts.LogLevel = o.Install.LogLevel
	opts.ManifestFile = componentsFile
	opts.Namespace = o.Install.Namespace
	opts.NetworkPolicy = *o.Install.NetworkPolicy
	opts.Registry = o.Install.Registry
	opts.TargetPath = o.Install.Path
	opts.TolerationKeys = o.Install.TolerationKeys
	opts.Version = o.Install.Version
	opts.WatchAllNamespaces = *o.Install.WatchAllNamespaces
	return opts
}

// syncOptions returns the options of Flux's generator of sync manifests.
func (o Options) syncOptions() (sync.Options, error) {
	interval, err := time.ParseDuration(o.Install.Interval)
	if err != nil {
		return sync.Options{}, fmt.Errorf("interval %q: %w", o.Install.Interval, err)
	}
	return sync.Options{
		Branch:            o.Git.Branch,
		Interval:          interval,
		ManifestFile:      syncFile,
		Name:              o.Install.Namespace,
		Namespace:         o.Install.Namespace,
		RecurseSubmodules: o.Install.RecurseSubmodules,
		Secret:            o.Install.SecretName,
		TargetPath:        o.Install.Path,
		URL:               o.Git.URL,
	}, nil
}

// components returns all components, sorted, so that the program's order does not matter.
func (o Options) components() []string {
	all := slices.Concat(slices.Sorted(slices.Values(o.Install.Components)), slices.Sorted(slices.Values(o.Install.ComponentsExtras)))
	return slices.Compact(all)
}

func or(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

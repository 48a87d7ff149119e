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
	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
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

// Install holds the inputs of FluxBootstrapGit. Its zero value installs Flux's defaults.
type Install struct {
	ClusterDomain         string   `json:"clusterDomain,omitempty"`
	Components            []string `json:"components,omitempty"`
	ComponentsExtras      []string `json:"componentsExtras,omitempty"`
	DisableSecretCreation bool     `json:"disableSecretCreation,omitempty"`
	ImagePullSecret       string   `json:"imagePullSecret,omitempty"`
	Interval              string   `json:"interval,omitempty"`
	KustomizationOverride string   `json:"kustomizationOverride,omitempty"`
	LogLevel              string   `json:"logLevel,omitempty"`
	Namespace             string   `json:"namespace,omitempty"`
	// NetworkPolicy is true by default.
	NetworkPolicy     *bool    `json:"networkPolicy,omitempty"`
	Path              string   `json:"path,omitempty"`
	RecurseSubmodules bool     `json:"recurseSubmodules,omitempty"`
	Registry          string   `json:"registry,omitempty"`
	SecretName        string   `json:"secretName,omitempty"`
	Timeouts          Timeouts `json:"timeouts,omitzero"`
	TolerationKeys    []string `json:"tolerationKeys,omitempty"`
	Version           string   `json:"version,omitempty"`
	// WatchAllNamespaces is true by default.
	WatchAllNamespaces *bool `json:"watchAllNamespaces,omitempty"`
	// DeleteGitManifests is true by default.
	DeleteGitManifests *bool `json:"deleteGitManifests,omitempty"`
	// EmbeddedManifests has no effect, because the plugin never downloads manifests.
	EmbeddedManifests bool `json:"embeddedManifests,omitempty"`
	KeepNamespace     bool `json:"keepNamespace,omitempty"`
}

// Timeouts are the time limits of the operations.
type Timeouts struct {
	Create string `json:"create,omitempty"`
	Read   string `json:"read,omitempty"`
	Update string `json:"update,omitempty"`
	Delete string `json:"delete,omitempty"`
}

// withDefaults returns i with every default filled in.
func (i Install) withDefaults() Install {
	std := install.MakeDefaultOptions()
	i.ClusterDomain = or(i.ClusterDomain, std.ClusterDomain)
	i.Interval = or(i.Interval, defaultInterval.String())
	i.LogLevel = or(i.LogLevel, std.LogLevel)
	i.Namespace = or(i.Namespace, std.Namespace)
	i.Registry = or(i.Registry, std.Registry)
	i.SecretName = or(i.SecretName, i.Namespace)
	if len(i.Components) == 0 {
		i.Components = std.Components
	}
	if i.Version == "" || i.Version == "latest" {
		i.Version = DefaultVersion
	}
	if i.NetworkPolicy == nil {
		i.NetworkPolicy = &std.NetworkPolicy
	}
	if i.WatchAllNamespaces == nil {
		i.WatchAllNamespaces = &std.WatchAllNamespaces
	}
	if i.DeleteGitManifests == nil {
		yes := true
		i.DeleteGitManifests = &yes
	}
	return i
}

// Problem is one invalid input.
type Problem struct {
	// Property is the Pulumi name of the input.
	Property string
	// Reason is one clause.
	Reason string
}

// Validate returns all problems of the inputs.
func (i Install) Validate() []Problem {
	i = i.withDefaults()
	var problems []Problem
	add := func(property, format string, args ...any) {
		problems = append(problems, Problem{Property: property, Reason: fmt.Sprintf(format, args...)})
	}
	std := install.MakeDefaultOptions()
	for _, c := range i.Components {
		if !slices.Contains(std.Components, c) {
			add("components", "%q is none of %s", c, strings.Join(std.Components, ", "))
		}
	}
	for _, c := range []string{"source-controller", "kustomize-controller"} {
		if !slices.Contains(i.Components, c) {
			add("components", "%s is required", c)
		}
	}
	for _, c := range i.ComponentsExtras {
		if !slices.Contains(std.ComponentsExtra, c) {
			add("componentsExtras", "%q is none of %s", c, strings.Join(std.ComponentsExtra, ", "))
		}
	}
	if !strings.HasPrefix(i.Version, "v") {
		add("version", "%q does not start with v", i.Version)
	}
	if !slices.Contains([]string{"info", "debug", "error"}, i.LogLevel) {
		add("logLevel", "%q is none of info, debug, error", i.LogLevel)
	}
	for property, value := range map[string]string{
		"interval":        i.Interval,
		"timeouts.create": i.Timeouts.Create,
		"timeouts.read":   i.Timeouts.Read,
		"timeouts.update": i.Timeouts.Update,
		"timeouts.delete": i.Timeouts.Delete,
	} {
		if value == "" {
			continue
		}
		if d, err := time.ParseDuration(value); err != nil || d <= 0 {
			add(property, "%q is not a positive duration such as 30s", value)
		}
	}
	if i.KustomizationOverride != "" {
		if err := validateOverride(i.KustomizationOverride); err != nil {
			add("kustomizationOverride", "%s", err)
		}
	}
	return problems
}

// validateOverride checks that the override still installs Flux and its sync.
func validateOverride(override string) error {
	var k kustypes.Kustomization
	if err := yaml.Unmarshal([]byte(override), &k); err != nil {
		return fmt.Errorf("not a kustomization: %w", err)
	}
	for _, file := range []string{componentsFile, syncFile} {
		if !slices.Contains(k.Resources, file) {
			return fmt.Errorf("%s is missing from its resources", file)
		}
	}
	return nil
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

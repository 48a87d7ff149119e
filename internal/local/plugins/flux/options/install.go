package options

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/manifestgen/install"
	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// Install holds the inputs of FluxBootstrapGit. Its zero value means Flux's defaults.
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

// Timeouts are the time limits of the operations in Go's notation, such as 5m. Empty means the default of the official
// provider.
type Timeouts struct {
	Create string `json:"create,omitempty"`
	Read   string `json:"read,omitempty"`
	Update string `json:"update,omitempty"`
	Delete string `json:"delete,omitempty"`
}

// WithDefaults returns i with the defaults of empty inputs.
func (i Install) WithDefaults() Install {
	std := install.MakeDefaultOptions()
	i.ClusterDomain = cmp.Or(i.ClusterDomain, std.ClusterDomain)
	i.Interval = cmp.Or(i.Interval, defaultInterval.String())
	i.LogLevel = cmp.Or(i.LogLevel, std.LogLevel)
	i.Namespace = cmp.Or(i.Namespace, std.Namespace)
	i.Registry = cmp.Or(i.Registry, std.Registry)
	i.SecretName = cmp.Or(i.SecretName, i.Namespace)
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
	// Reason is one clause without the property.
	Reason string
}

// Validate returns all problems of the inputs, or nil.
func (i Install) Validate() []Problem {
	i = i.WithDefaults()
	var problems []Problem
	add := func(property, format string, args ...any) {
		problems = append(problems, Problem{Property: property, Reason: fmt.Sprintf(format, args...)})
	}
	std := install.MakeDefaultOptions()
	for _, c := range i.Components {
		if !slices.Contains(std.Components, c) {
			add("components", "%q is not one of %s", c, strings.Join(std.Components, ", "))
		}
	}
	for _, c := range []string{"source-controller", "kustomize-controller"} {
		if !slices.Contains(i.Components, c) {
			add("components", "%s is required", c)
		}
	}
	for _, c := range i.ComponentsExtras {
		if !slices.Contains(std.ComponentsExtra, c) {
			add("componentsExtras", "%q is not one of %s", c, strings.Join(std.ComponentsExtra, ", "))
		}
	}
	if !strings.HasPrefix(i.Version, "v") {
		add("version", "%q does not start with v", i.Version)
	}
	if !slices.Contains([]string{"info", "debug", "error"}, i.LogLevel) {
		add("logLevel", "%q is not one of info, debug, error", i.LogLevel)
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

// validateOverride returns an error unless a kustomization contains Flux's components and its root sync.
func validateOverride(override string) error {
	var k kustypes.Kustomization
	if err := yaml.Unmarshal([]byte(override), &k); err != nil {
		return fmt.Errorf("it is not a kustomization: %w", err)
	}
	for _, file := range []string{ComponentsFile, SyncFile} {
		if !slices.Contains(k.Resources, file) {
			return fmt.Errorf("%s is missing in its resources", file)
		}
	}
	return nil
}

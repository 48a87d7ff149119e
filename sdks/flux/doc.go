// Package flux contains Go bindings for the resources of the Pulumi provider for Flux that Strata uses: the provider itself
// and FluxBootstrapGit.
//
// The type tokens, the property names and the download address are those of github.com/oun/pulumi-flux, so the published
// plugin serves these resources as they are. Property names that only newer releases of the Terraform provider behind it
// know say so; leave them unset with the published plugin.
package flux

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

const (
	// Version is the release of the published plugin that these bindings were written for.
	Version = "1.0.1"
	// PluginDownloadURL is where the engine finds the published plugin.
	PluginDownloadURL = "github://api.github.com/oun"

	// ProviderToken is the type token of Provider.
	ProviderToken = "pulumi:providers:flux"
	// FluxBootstrapGitToken is the type token of FluxBootstrapGit.
	FluxBootstrapGitToken = "flux:index/fluxBootstrapGit:FluxBootstrapGit"
)

// withPlugin puts the plugin's address before the caller's options, so that the caller has the last word.
func withPlugin(opts []pulumi.ResourceOption) []pulumi.ResourceOption {
	plugin := []pulumi.ResourceOption{pulumi.Version(Version), pulumi.PluginDownloadURL(PluginDownloadURL)}
	return append(plugin, opts...)
}

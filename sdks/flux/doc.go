// Package flux contains Go bindings for the resources of the Pulumi provider for Flux that Strata uses: the provider itself
// and FluxBootstrapGit.
//
// The type tokens, the property names and the download address are those of github.com/oun/pulumi-flux, so the published
// plugin serves these resources. A comment marks each property that only newer releases of the underlying Terraform
// provider support; leave these properties unset with the published plugin.
package flux

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

const (
	// Version is the release of the published plugin that these bindings describe.
	Version = "1.0.1"
	// PluginDownloadURL is the address from which the engine downloads the published plugin.
	PluginDownloadURL = "github://api.github.com/oun"

	// ProviderToken is the type token of Provider.
	ProviderToken = "pulumi:providers:flux"
	// FluxBootstrapGitToken is the type token of FluxBootstrapGit.
	FluxBootstrapGitToken = "flux:index/fluxBootstrapGit:FluxBootstrapGit"
)

// withPlugin puts the plugin's address before the caller's options, so that the caller's options take precedence.
func withPlugin(opts []pulumi.ResourceOption) []pulumi.ResourceOption {
	plugin := []pulumi.ResourceOption{pulumi.Version(Version), pulumi.PluginDownloadURL(PluginDownloadURL)}
	return append(plugin, opts...)
}

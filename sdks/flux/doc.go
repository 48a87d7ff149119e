// Package flux contains the Go SDK of the Terraform provider fluxcd/flux as a Pulumi package. Pulumi's plugin
// terraform-provider serves the package: a program registers it with a parameter that names the Terraform provider.
//
// Pulumi's generator writes all files except this one and the tests from schema.json, which holds what the plugin returns for
// the provider, with descriptions of our own. To use another release of the provider, change the versions and the parameter
// in the schema, compare its properties with those of the release, and run `make generate`.
package flux

import _ "embed" // of the schema

//go:generate go run -modfile=../../tools/pulumi/go.mod generate.go

// Schema is the schema of the package, in JSON.
//
//go:embed schema.json
var Schema []byte

const (
	// Version is the release of the Terraform provider, and of this package.
	Version = "1.9.5"
	// Source is the address of the Terraform provider in its registry.
	Source = "registry.opentofu.org/fluxcd/flux"
	// Plugin is the plugin that serves the package.
	Plugin = "terraform-provider"
	// PluginVersion is the release of Plugin.
	PluginVersion = "1.1.3"

	// ProviderToken is the type token of Provider.
	ProviderToken = "pulumi:providers:flux"
	// BootstrapGitToken is the type token of BootstrapGit.
	BootstrapGitToken = "flux:index/bootstrapGit:BootstrapGit"
	// FormerBootstrapGitToken is the token that BootstrapGit had in github.com/oun/pulumi-flux, and has in the states of
	// older platforms. It is an alias.
	FormerBootstrapGitToken = "flux:index/fluxBootstrapGit:FluxBootstrapGit"
)

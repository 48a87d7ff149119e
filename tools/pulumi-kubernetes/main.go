// Command pulumi-kubernetes is the Kubernetes provider plugin, built from its Go module.
//
// Upstream's own main embeds a file that its release build generates, so it cannot be built from the module alone.
// This main embeds the two data files that the module contains; the toolchain copies them here before the build.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

// version is the version of the provider's SDK in go.mod, without the v; the toolchain sets it.
var version string

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var terraformMapping []byte

func main() {
	provider.Serve("kubernetes", version, schema, terraformMapping)
}

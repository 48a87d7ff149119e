// Package plugins contains the Pulumi provider plugins of the local target. They use the official type tokens in place
// of the official plugins, and call an emulated cloud.
package plugins

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/local/plugins/flux"
	"github.com/strata-platform/strata/internal/local/plugins/gcp"
	"github.com/strata-platform/strata/internal/local/plugins/random"
)

// prefix begins the name of a Pulumi provider plugin's executable.
const prefix = "pulumi-resource-"

// Name returns the provider in a program's name, for example "gcp" for ".../tools/pulumi-resource-gcp". The result is
// false if arg0 is not the name of a plugin.
func Name(arg0 string) (string, bool) {
	return strings.CutPrefix(filepath.Base(arg0), prefix)
}

// Run runs the plugin process of one provider. It reads the engine's address from the command line, prints its port
// and returns when the engine is done.
func Run(ctx context.Context, name string) error {
	switch name {
	case "flux":
		return flux.Package().Serve(ctx)
	case "gcp":
		return gcp.Package().Serve(ctx)
	case "random":
		return random.Package().Serve(ctx)
	default:
		return fmt.Errorf("no local plugin for provider %q: there are flux, gcp and random", name)
	}
}

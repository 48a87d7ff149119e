// Package plugins contains the Pulumi provider plugins of the local target. They carry the official type tokens and
// stand in for the official plugins; the cloud they speak to is emulated.
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

// prefix is how Pulumi names the executable of a provider plugin.
const prefix = "pulumi-resource-"

// Name returns the provider that a program was started as, for example "gcp" for ".../tools/pulumi-resource-gcp". The
// result is false when arg0 is no plugin's name.
func Name(arg0 string) (string, bool) {
	return strings.CutPrefix(filepath.Base(arg0), prefix)
}

// Run is the plugin process of one provider. It takes the engine's address from the command line, prints its port and
// returns when the engine is done.
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

// Package plugins contains the Pulumi provider plugins of the local target. They use the official type tokens in place
// of the official plugins, and call an emulated cloud. The plugin of Strata's own components is the same on all targets.
package plugins

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strata-platform/strata/components/plugin"
	"github.com/strata-platform/strata/internal/local/plugins/flux"
	"github.com/strata-platform/strata/internal/local/plugins/gcp"
	"github.com/strata-platform/strata/internal/local/plugins/random"
	sdk "github.com/strata-platform/strata/sdks/flux"
)

// prefix begins the name of a Pulumi provider plugin's executable.
const prefix = "pulumi-resource-"

// providers maps the name of each provider to the function that runs its plugin process.
var providers = map[string]func(context.Context) error{
	sdk.Plugin:  func(ctx context.Context) error { return flux.Package().Serve(ctx) },
	"flux":      func(ctx context.Context) error { return flux.Former().Serve(ctx) },
	"gcp":       func(ctx context.Context) error { return gcp.Package().Serve(ctx) },
	"random":    func(ctx context.Context) error { return random.Package().Serve(ctx) },
	plugin.Name: plugin.Serve,
}

// Names returns the names of all providers, sorted.
func Names() []string { return slices.Sorted(maps.Keys(providers)) }

// Executable returns the name by which Pulumi finds the executable of a provider's plugin, for example
// "pulumi-resource-gcp" for "gcp".
func Executable(provider string) string { return prefix + provider }

// Name returns the provider in a program's name, for example "gcp" for ".../tools/pulumi-resource-gcp". The result is
// false if arg0 is not the name of a plugin.
func Name(arg0 string) (string, bool) {
	return strings.CutPrefix(filepath.Base(arg0), prefix)
}

// Run runs the plugin process of one provider. It reads the engine's address from the command line, prints its port and
// returns when the engine has finished.
func Run(ctx context.Context, name string) error {
	serve := providers[name]
	if serve == nil {
		return fmt.Errorf("no local plugin for provider %q: use %s", name, strings.Join(Names(), ", "))
	}
	return serve(ctx)
}

// Package layerconfig gives the layers their configuration and their environment on one machine.
package layerconfig

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/states"
	"github.com/strata-platform/strata/operator/engine/pulumihome"
)

// Environment returns the environment of a layer's Pulumi program: the state backend, its passphrase, the stack and its
// configuration, the plugins and, only for layer 1, the engineer's Google identity. googleURL is the base URL of the
// emulated Google Cloud; manifests returns the path of the program that writes Flux's manifests, which only layer 2 needs.
func Environment(
	ctx context.Context, h home.Home, layer string, backend states.Layers, googleURL string, manifests func(context.Context) (string, error),
) (map[string]string, error) {
	if _, err := lifecycle.ProjectOf(layer); err != nil {
		return nil, err
	}
	passphrase, err := h.Secret("passphrase")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(backend.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("prepare the environment of layer %s: %w", layer, err)
	}
	pulumiHome := filepath.Join(h.Layer(layer), "pulumi")
	if err := pulumihome.WithoutLogs(pulumiHome); err != nil {
		return nil, fmt.Errorf("prepare the environment of layer %s: %w", layer, err)
	}
	env := pulumienv.Variables(h, googleURL)
	maps.Copy(env, map[string]string{
		"PULUMI_BACKEND_URL":       backend.Address(),
		"PULUMI_CONFIG_PASSPHRASE": passphrase,
		"PULUMI_HOME":              pulumiHome,
		// The engineer's shell may have another layer's values.
		"PULUMI_STACK":              backend.Stack,
		"PULUMI_OPTION_CONFIG_FILE": filepath.Join(h.Layer(layer), "Pulumi."+backend.Stack+".yaml"),
	})
	switch layer {
	case lifecycle.BootstrapLayer:
		env["GOOGLE_CREDENTIALS"] = h.EngineerCredentials()
		env["GOOGLE_PROJECT"] = h.Project()
		env["GOOGLE_REGION"] = home.Region
		env["GOOGLE_ZONE"] = home.Zone
	case lifecycle.PlatformLayer:
		program, err := manifests(ctx)
		if err != nil {
			return nil, err
		}
		env["STRATA_FLUX_MANIFESTS"] = program
		// Layer 2 has access to the cluster but not to the cloud, even if the engineer's shell has Google credentials.
		for name := range env {
			if strings.HasPrefix(name, "GOOGLE_") {
				env[name] = ""
			}
		}
		for _, name := range []string{"CREDENTIALS", "APPLICATION_CREDENTIALS", "PROJECT", "REGION", "ZONE"} {
			env["GOOGLE_"+name] = ""
		}
	}
	return env, nil
}

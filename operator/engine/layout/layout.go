// Package layout writes the entries of a run's folder, and builds the environment that points to them.
package layout

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/pulumihome"
	"github.com/strata-platform/strata/operator/environ"
)

// Names of the entries in a run's folder.
const (
	// Home is HOME and PULUMI_HOME of the run.
	Home = "home"
	// Project is the folder of the run's project. Write does not create it.
	Project = "project"

	temp       = "tmp"
	kubeconfig = "kubeconfig"
)

// Write creates the folders and files in dir, the folder of a run, except those of its project. A nil config means that the run has no
// kubeconfig.
func Write(dir string, config []byte) error {
	for _, name := range []string{Home, temp} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return fmt.Errorf("make the run's folder %s: %w", name, err)
		}
	}
	if err := pulumihome.WithoutLogs(filepath.Join(dir, Home)); err != nil {
		return err
	}
	if config == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, kubeconfig), config, 0o600); err != nil {
		return fmt.Errorf("write the run's %s: %w", kubeconfig, err)
	}
	return nil
}

// Given is what a run's environment is built from.
type Given struct {
	// Base is the engine's environment, in the form of [os.Environ].
	Base []string
	// Request is the environment of the request, by the variable's name. Its variables replace those of Base.
	Request map[string]string
	// Backend is the URL of the backend; empty means [backend.Default].
	Backend string
	// Kubeconfig says that Write has written a kubeconfig.
	Kubeconfig bool
}

// Environment builds the environment of the run in dir from nothing. Of several entries for one variable, the last wins. The order is:
// Base, Request, the variables that the engine requires. It fails for a name that cannot be a variable's.
func (g Given) Environment(dir string) ([]string, error) {
	// Pulumi and its plugins are short-lived. Less frequent garbage collection saves a
	// sixth of a run's processor time and costs some 30 MB.
	// Pulumi fails without USER if the user has no entry in /etc/passwd, as in a container
	// with an arbitrary user ID.
	env := append([]string{"GOGC=400", "USER=strata"}, g.Base...)
	for _, name := range slices.Sorted(maps.Keys(g.Request)) {
		if err := environ.Check(name); err != nil {
			return nil, fmt.Errorf("environment variable %s %w", name, err)
		}
		env = append(env, name+"="+g.Request[name])
	}
	home := filepath.Join(dir, Home)
	env = append(env,
		"HOME="+home,
		"TMPDIR="+filepath.Join(dir, temp),
		"PULUMI_HOME="+home,
		"PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true",
		// A new folder has no settings with the stack's encryption key. The stack's state has
		// them.
		"PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER=true",
		// Enables the flag --event-log.
		"PULUMI_DEBUG_COMMANDS=true",
		// If this variable were missing, the backend address in a fetched project would apply.
		"PULUMI_BACKEND_URL="+cmp.Or(g.Backend, backend.Default),
	)
	if g.Kubeconfig {
		env = append(env, "KUBECONFIG="+filepath.Join(dir, kubeconfig))
	}
	return env, nil
}

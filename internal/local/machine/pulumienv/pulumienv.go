// Package pulumienv prepares the environment in which Pulumi runs on the local target: the programs of the toolchain and
// the local provider plugins on PATH, and the endpoints of the emulated Google Cloud.
package pulumienv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/plugins"
	"github.com/strata-platform/strata/internal/local/plugins/gohost"
)

// Tools are the programs of the toolchain that a Pulumi run needs.
var Tools = []string{"pulumi", "pulumi-language-yaml", "pulumi-resource-kubernetes"}

// LoginPlugin is the name of Google's program that logs kubectl and other clients in to a cluster of GKE. In the tools of a home, Strata has
// this name too: it logs clients in to the emulated cluster, so that a kubeconfig of layer 1 for Google Cloud works there as it is.
const LoginPlugin = "gke-gcloud-auth-plugin"

// Link fills the home's tools folder with links to the toolchain's programs and, as provider plugins, to strata's own
// executable. Pulumi finds the plugins on PATH as ambient plugins, so no run needs a plugin folder of its own. Link
// also adds strata as the program that logs in to the emulated cluster, and to the spares, as the language host of Go programs.
func Link(ctx context.Context, h home.Home, find func(context.Context, string) (string, error), strata string) error {
	for _, dir := range []string{h.Tools(), h.Spares()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("link the tools: %w", err)
		}
	}
	for _, name := range Tools {
		path, err := find(ctx, name)
		if err != nil {
			return err
		}
		if err := link(path, filepath.Join(h.Tools(), name)); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	for _, provider := range plugins.Names() {
		name := plugins.Executable(provider)
		if err := link(strata, filepath.Join(h.Tools(), name)); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	for name, path := range map[string]string{
		gohost.Executable: filepath.Join(h.Spares(), gohost.Executable), LoginPlugin: filepath.Join(h.Tools(), LoginPlugin),
	} {
		if err := link(strata, path); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

// link atomically creates or replaces the symbolic link path to target.
func link(target, path string) error {
	if old, err := os.Readlink(path); err == nil && old == target {
		return nil
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Symlink(target, tmp); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(tmp, path)
}

// Variables returns the environment variables that the runs of the layers and of the operator share. googleURL is the
// base URL of the emulated Google Cloud.
func Variables(h home.Home, googleURL string) map[string]string {
	env := map[string]string{
		"PATH":                     joinPath(h.Tools(), machinePath(h)),
		"PULUMI_SKIP_UPDATE_CHECK": "true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
		"USER": userName(),
	}
	maps.Copy(env, cloud.Endpoints(googleURL))
	return env
}

// userName returns a name for the current user. Pulumi fails without USER if the user has no entry in /etc/passwd, as in a
// container with an arbitrary user ID, and records the name in the history of a stack.
func userName() string { return cmp.Or(os.Getenv("USER"), "strata") }

// ShellPath returns PATH for an engineer's shell. If the machine has no language host for Go, Pulumi finds the spare
// one.
func ShellPath(h home.Home) string { return joinPath(h.Tools(), machinePath(h), h.Spares()) }

// machinePath returns PATH without the home's folders. A shell that already has this environment contains them.
func machinePath(h home.Home) string {
	return joinPath(slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return dir == h.Tools() || dir == h.Spares()
	})...)
}

// joinPath joins folders to a value of PATH.
func joinPath(dirs ...string) string { return strings.Join(dirs, string(os.PathListSeparator)) }

package processes

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
)

// environment returns the whole environment: the image's variables, the container's, and last the variables that
// replace a container's file system. A pod cannot set the last ones, so it cannot point its process at the credentials
// or programs of others.
func (p program) environment(c runtime.Container, own map[string]string, mounts mounts, rewrite func(string) string) ([]string, error) {
	env := map[string]string{}
	for name, value := range own {
		if !strings.HasPrefix(name, "LD_") && name != "PATH" {
			env[name] = rewrite(value)
		}
	}
	for name, value := range p.image.Env {
		if _, set := env[name]; !set {
			env[name] = value
		}
	}
	env["HOME"], env["TMPDIR"], env["HOSTNAME"] = c.Dir, c.Dir, c.Object.Name
	if tmp := mounts.at("/tmp"); tmp != "" {
		env["TMPDIR"] = tmp
	}
	delete(env, "KUBECONFIG")
	if account := mounts.at(volume.ServiceAccountPath); account != "" {
		kubeconfig := filepath.Join(c.Dir, c.Spec.Name+".kubeconfig")
		if err := WriteKubeconfig(kubeconfig, p.runtime.Server, account, c.Object.Namespace); err != nil {
			return nil, err
		}
		env["KUBECONFIG"] = kubeconfig
	}
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

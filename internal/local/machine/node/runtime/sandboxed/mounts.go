package sandboxed

import (
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// mountsOf returns the mounts of a container, parents before children: its volumes, and /etc/hosts.
func mountsOf(c runtime.Container, env map[string]string, ip netip.Addr) ([]spec.Mount, error) {
	file := filepath.Join(c.Dir, "hosts")
	if err := home.KeepFile(file, []byte(hosts(c.Object, ip))); err != nil {
		return nil, err
	}
	list := []spec.Mount{{Kind: spec.Bind, Source: file, Target: "/etc/hosts"}}
	volumes, err := c.Volumes.Mounts(c.Spec, env)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(volumes) {
		mount := spec.Mount{Kind: spec.Bind, Source: m.Source, Target: m.Path, ReadOnly: m.ReadOnly}
		if m.Memory {
			mount = spec.Mount{Kind: spec.Shared, Source: m.Volume, Target: m.Path, ReadOnly: m.ReadOnly}
		}
		list = slices.DeleteFunc(list, func(have spec.Mount) bool { return have.Target == mount.Target })
		list = append(list, mount)
	}
	return list, nil
}

package volume

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
)

// ServiceAccountPath is the path at which a container finds its service account's credentials (Kubernetes, "Accessing
// the API from a Pod").
const ServiceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// Mount maps a mount path of a container to a folder or file of this machine.
type Mount struct {
	// Path is the clean absolute path in the container.
	Path string
	// Source is the absolute path on this machine: Root and SubPath. A container that writes to the volume may have put a
	// link there, so only a runtime whose programs are trusted uses Source.
	Source string
	// Root is the volume's folder. SubPath is a relative path beneath it without "..", or empty.
	Root, SubPath string
	// Volume is the name of the volume.
	Volume string
	// ReadOnly forbids writes: the container asks for it, or the content comes from the cluster.
	ReadOnly bool
	// Memory means that the volume is an emptyDir in memory.
	Memory bool
	// Owners means that the volume keeps the owners of files as records (package owners).
	Owners bool
}

// Mounts returns a container's mounts, longest path first: /data/cache before /data. env holds the variables that
// subPathExpr may name.
func (v *Volumes) Mounts(c *corev1.Container, env map[string]string) ([]Mount, error) {
	var list []Mount
	for _, m := range c.VolumeMounts {
		below := m.SubPath
		if m.SubPathExpr != "" {
			below = environment.Expand(m.SubPathExpr, env)
		}
		if path.IsAbs(below) || slices.Contains(strings.Split(below, "/"), "..") {
			return nil, fmt.Errorf("mount %s: the sub path %q is absolute or contains \"..\": use a path within the volume", m.MountPath, below)
		}
		at := strings.TrimRight(m.MountPath, "/")
		if at == "" {
			continue
		}
		root, sub := v.path(m.Name), clean(below)
		mount := Mount{
			Path: path.Clean("/" + at), Source: filepath.Join(root, sub), Root: root, SubPath: sub, Volume: m.Name,
			ReadOnly: m.ReadOnly, Owners: v.keepsOwners(),
		}
		switch volume := v.spec(m.Name); {
		case volume == nil: // The API server accepts no such pod.
			mount.ReadOnly = true
		case volume.EmptyDir != nil:
			mount.Memory = v.inMemory(volume)
		case isClaim(volume):
			mount.ReadOnly = mount.ReadOnly || v.claimed(m.Name).readOnly
		default:
			mount.ReadOnly = true
		}
		list = append(list, mount)
	}
	slices.SortStableFunc(list, func(a, b Mount) int { return len(b.Path) - len(a.Path) })
	return list, nil
}

// spec returns a volume of the pod, or nil.
func (v *Volumes) spec(name string) *corev1.Volume {
	volumes := v.pod.Pod().Spec.Volumes
	for i := range volumes {
		if volumes[i].Name == name {
			return &volumes[i]
		}
	}
	return nil
}

// MakeFolders creates the missing folders of sub paths in volumes that programs write to, for a runtime that uses
// Mount.Source. A link that leads out of its volume is an error.
func (v *Volumes) MakeFolders(list []Mount) error {
	for _, m := range list {
		if volume := v.spec(m.Volume); m.SubPath == "" || volume == nil || volume.EmptyDir == nil && !isClaim(volume) {
			continue
		}
		if err := makeFolder(m); err != nil {
			return fmt.Errorf("volume %s: create the sub path %s: %w", m.Volume, m.SubPath, err)
		}
	}
	return nil
}

func makeFolder(m Mount) error {
	root, err := os.OpenRoot(m.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Stat(m.SubPath); err == nil && !info.IsDir() {
		return nil
	}
	return root.MkdirAll(m.SubPath, 0o700)
}

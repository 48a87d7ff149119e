package volume

import (
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
	// Source is the absolute path on this machine.
	Source string
	// Volume is the name of the volume.
	Volume string
	// ReadOnly forbids writes: the container asks for it, or the content comes from the cluster.
	ReadOnly bool
	// Memory means that the volume is an emptyDir in memory.
	Memory bool
}

// Mounts returns a container's mounts, longest path first: /data/cache before /data. env holds the variables that
// subPathExpr may name. It creates the folders of sub paths in emptyDir volumes, where a program may create files.
func (v *Volumes) Mounts(c *corev1.Container, env map[string]string) ([]Mount, error) {
	var list []Mount
	for _, m := range c.VolumeMounts {
		below := m.SubPath
		if m.SubPathExpr != "" {
			below = environment.Expand(m.SubPathExpr, env)
		}
		if at := strings.TrimRight(m.MountPath, "/"); at != "" {
			mount := Mount{Path: path.Clean(at), Source: filepath.Join(v.folder(m.Name), clean(below)), Volume: m.Name, ReadOnly: true}
			if empty := v.emptyDir(m.Name); empty != nil {
				mount.ReadOnly, mount.Memory = m.ReadOnly, empty.Medium == corev1.StorageMediumMemory
			}
			list = append(list, mount)
		}
	}
	slices.SortStableFunc(list, func(a, b Mount) int { return len(b.Path) - len(a.Path) })
	return list, v.makeFolders(list)
}

// emptyDir returns the source of an emptyDir volume, or nil for another volume.
func (v *Volumes) emptyDir(name string) *corev1.EmptyDirVolumeSource {
	for _, volume := range v.pod.Pod().Spec.Volumes {
		if volume.Name == name {
			return volume.EmptyDir
		}
	}
	return nil
}

// makeFolders creates the folders of the mounts of emptyDir volumes.
func (v *Volumes) makeFolders(list []Mount) error {
	for _, volume := range v.pod.Pod().Spec.Volumes {
		if volume.EmptyDir == nil {
			continue
		}
		for _, m := range list {
			if m.Source == v.folder(volume.Name) || strings.HasPrefix(m.Source, v.folder(volume.Name)+"/") {
				if err := os.MkdirAll(m.Source, 0o700); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

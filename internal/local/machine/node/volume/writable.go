package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/strata-platform/strata/internal/local/machine/owners"
)

// defaultMemory is the size of an emptyDir in memory that has no limit, in a pod without memory limits, in bytes.
const defaultMemory = 1 << 30

// Writable is a volume that the pod's programs write to.
type Writable struct {
	Name string
	// Memory means that the volume is a memory file system of Size bytes.
	Memory bool
	Size   int64
	// Root is the volume's folder, unless it is in memory.
	Root string
	// Owners means that the volume keeps the owners of files as records.
	Owners bool
	// Persistent means that the volume outlives the pod.
	Persistent bool
	// Limit is the maximum size of an emptyDir on disk, or nil.
	Limit *corev1.EmptyDirVolumeSource
}

// Writable returns the volumes that the pod's programs write to. It contains persistent volumes after the first Prepare.
func (v *Volumes) Writable() []Writable {
	var list []Writable
	volumes := v.pod.Pod().Spec.Volumes
	for i := range volumes {
		volume := &volumes[i]
		w := Writable{Name: volume.Name, Root: v.path(volume.Name), Owners: v.keepsOwners(), Persistent: isClaim(volume), Limit: volume.EmptyDir}
		switch {
		case w.Persistent:
			if w.Root == "" {
				continue
			}
		case volume.EmptyDir == nil:
			continue
		case v.inMemory(volume):
			w = Writable{Name: volume.Name, Memory: true, Size: v.memorySize(volume.EmptyDir)}
		}
		list = append(list, w)
	}
	return list
}

// inMemory reports whether an emptyDir is in memory. A sandbox cannot mount a part of a memory file system, so a volume with
// sub paths is on disk. On a file system that keeps no owners every other emptyDir is in memory, where chown works.
func (v *Volumes) inMemory(volume *corev1.Volume) bool {
	if volume.EmptyDir == nil || volume.EmptyDir.Medium == corev1.StorageMediumDefault && v.keepsOwners() {
		return false
	}
	spec := &v.pod.Pod().Spec
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, c := range list {
			for _, m := range c.VolumeMounts {
				if m.Name == volume.Name && (m.SubPath != "" || m.SubPathExpr != "") {
					return false
				}
			}
		}
	}
	return true
}

// memorySize returns the size of a memory file system: its limit, or the sum of the containers' memory limits, as in the
// kubelet, or defaultMemory.
func (v *Volumes) memorySize(source *corev1.EmptyDirVolumeSource) int64 {
	if source.SizeLimit != nil && source.SizeLimit.Value() > 0 {
		return source.SizeLimit.Value()
	}
	var sum int64
	for _, c := range v.pod.Pod().Spec.Containers {
		limit := c.Resources.Limits.Memory().Value()
		if limit == 0 {
			return defaultMemory
		}
		sum += limit
	}
	return sum
}

// keepsOwners reports whether the file system of the pods' folders keeps the owners of files.
func (v *Volumes) keepsOwners() bool { return v.supported() == nil }

// supportedBy tests the file system of a folder, and creates the folder if necessary.
func supportedBy(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return owners.Supported(dir)
}

// makeEmpty creates the folder of an emptyDir, which every user may write to.
func (v *Volumes) makeEmpty(volume *corev1.Volume) error {
	dir := v.folder(volume.Name)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := v.record(dir, owners.Record{Mode: 0o777}); err != nil {
			return err
		}
	}
	return v.group(volume.Name, dir)
}

// record sets the owner of a file or folder, on a file system that keeps owners.
func (v *Volumes) record(path string, r owners.Record) error {
	if !v.keepsOwners() {
		return nil
	}
	return owners.Set(path, r)
}

// group gives a volume to the pod's fsGroup, once in the pod's life (Kubernetes, "Configure volume permission and ownership
// change policy for Pods"). The caller must hold the lock.
func (v *Volumes) group(name, dir string) error {
	context := v.pod.Pod().Spec.SecurityContext
	if context == nil || context.FSGroup == nil || v.grouped[name] || !v.keepsOwners() {
		return nil
	}
	gid := uint32(*context.FSGroup)
	const shared = 0o2070 // what the policy OnRootMismatch looks for
	r, err := owners.Of(dir)
	if err != nil {
		return err
	}
	rootOnly := ptr.Deref(context.FSGroupChangePolicy, corev1.FSGroupChangeAlways) == corev1.FSGroupChangeOnRootMismatch
	if !rootOnly || r.GID != gid || r.Mode&shared != shared {
		if err := owners.ApplyGroup(dir, gid); err != nil {
			return fmt.Errorf("set the fsGroup: %w", err)
		}
	}
	v.grouped[name] = true
	return nil
}

// fsUser returns the user of all containers, or nil if they have no common user or one does not say its user, as in the
// kubelet.
func (v *Volumes) fsUser() *int64 {
	spec := &v.pod.Pod().Spec
	var common *int64
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, c := range list {
			var user *int64
			if spec.SecurityContext != nil {
				user = spec.SecurityContext.RunAsUser
			}
			if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
				user = c.SecurityContext.RunAsUser
			}
			if user == nil || common != nil && *common != *user {
				return nil
			}
			common = user
		}
	}
	return common
}

// seen returns the record of a file whose content comes from the cluster, or nil if root owns it. The pod's fsGroup may read
// it, as in the kubelet.
func (v *Volumes) seen(user *int64, mode fs.FileMode) *owners.Record {
	r := owners.Record{Mode: uint32(mode)}
	if user != nil {
		r.UID = uint32(*user)
	}
	if context := v.pod.Pod().Spec.SecurityContext; context != nil && context.FSGroup != nil {
		r.GID, r.Mode = uint32(*context.FSGroup), r.Mode|0o440
	}
	return &r
}

package sandboxed

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
	"github.com/strata-platform/strata/internal/local/machine/owners"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// mountsOf returns the mounts of a container, parents before children: the files of every pod, its volumes, and the file of its
// termination message. authority is the certificate of the emulated Google Cloud's authority, or empty. A mount of the container's own replaces one of Strata's with the same path.
func mountsOf(c runtime.Container, found images.Image, env map[string]string, ip netip.Addr, authority []byte) ([]spec.Mount, error) {
	var list []spec.Mount
	add := func(m spec.Mount) {
		list = slices.DeleteFunc(list, func(have spec.Mount) bool { return have.Target == m.Target })
		list = append(list, m)
	}
	files := map[string]string{"/etc/hosts": hosts(c.Object, ip), "/etc/hostname": hostname(c.Object) + "\n"}
	if len(authority) > 0 {
		files[google.AuthorityFolder+"/"+google.AuthorityFile] = string(authority)
	}
	for target, text := range files {
		file, err := runtime.KeepFile(c.Dir, filepath.Base(target), text)
		if err != nil {
			return nil, err
		}
		add(spec.Mount{Kind: spec.Bind, Source: file, Target: target})
	}
	message := messageFile(c)
	if err := createMessage(message); err != nil {
		return nil, err
	}
	if c.Spec.TerminationMessagePath != "" {
		add(spec.Mount{Kind: spec.Bind, Source: message, Target: filepath.Clean("/" + c.Spec.TerminationMessagePath)})
	}
	if isReadOnly(c.Spec) {
		for _, m := range imageVolumes(found) {
			add(m)
		}
	}
	volumes, err := c.Volumes.Mounts(c.Spec, env)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(volumes) {
		add(mountOf(c.Object, m))
	}
	// A parent must be mounted before its children.
	slices.SortStableFunc(list, func(a, b spec.Mount) int { return strings.Count(a.Target, "/") - strings.Count(b.Target, "/") })
	return list, nil
}

// mountOf returns the mount of a volume.
func mountOf(o *corev1.Pod, m volume.Mount) spec.Mount {
	if m.Memory {
		return spec.Mount{Kind: spec.Shared, Source: memoryName(o, m.Volume), Target: m.Path, ReadOnly: m.ReadOnly}
	}
	mount := spec.Mount{Kind: spec.Bind, Source: m.Root, SubPath: m.SubPath, Target: m.Path, ReadOnly: m.ReadOnly}
	if m.Owners {
		mount.Options = []string{owners.MountOption}
	}
	return mount
}

// memoryName returns the name of the memory file system of a volume. The name of the volume itself may be that of /dev/shm.
func memoryName(o *corev1.Pod, volume string) string {
	at := slices.IndexFunc(o.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	return "volume-" + strconv.Itoa(at)
}

// isReadOnly reports whether the container's root file system is read-only.
func isReadOnly(c *corev1.Container) bool {
	return c.SecurityContext != nil && c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem
}

// imageVolumes returns empty folders in memory for the volumes that an image declares. A container with a writable root file
// system needs none: the folders of the image are writable.
func imageVolumes(found images.Image) []spec.Mount {
	var list []spec.Mount
	for name := range found.Config.Volumes {
		if target := filepath.Clean("/" + name); target != "/" {
			list = append(list, spec.Mount{Kind: spec.Tmpfs, Target: target, Size: imageVolumeSize})
		}
	}
	return list
}

// imageVolumeSize bounds a volume that an image declares, in bytes.
const imageVolumeSize = 256 << 20

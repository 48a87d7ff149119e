package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/pause"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// Pod is a pod with the facts that its bundles share.
type Pod struct {
	spec.Pod

	// Sandbox is runsc's ID of the pod's first container.
	Sandbox string

	// Network is the path of the network namespace.
	Network string

	// PauseImage is the path of the image of package pause.
	PauseImage string

	// DNSFile is the path of a file with the pod's DNS configuration. Empty means none.
	DNSFile string
}

// WriteSandbox writes the bundle of the pod's first container into a new folder.
func (p Pod) WriteSandbox(dir string) error {
	c := config{
		Version:  version,
		Hostname: p.hostname(),
		Process: process{
			Args: []string{pause.Program}, Cwd: "/", Env: []string{}, NoNewPrivileges: true,
			Capabilities: effective(nil, 0),
		},
		// gVisor creates the mount points in the overlay.
		Root:   root{Path: filepath.Join(dir, "rootfs")},
		Mounts: []mount{cgroups},
		Linux:  linux{Namespaces: p.namespaces(""), Sysctl: p.Sysctls},
		Annotations: map[string]string{
			kindAnnotation: "sandbox", sandboxAnnotation: p.Sandbox,
			rootAnnotation + "source": p.PauseImage, rootAnnotation + "type": "erofs", rootAnnotation + "overlay": "memory",
		},
	}
	maps.Copy(c.Annotations, p.Annotations)
	for _, m := range p.memory() {
		hint := mountAnnotation + "memory-" + m.Name + "."
		c.Annotations[hint+"source"] = source(m.Name)
		c.Annotations[hint+"type"] = "tmpfs"
		c.Annotations[hint+"share"] = "pod"
		c.Annotations[hint+"options"] = strings.Join(append([]string{"rw"}, size(m.Size)...), ",")
	}
	return c.write(dir)
}

// WriteContainer writes the bundle of another container into a new folder. Containers with the same processes share a PID
// namespace.
func (p Pod) WriteContainer(dir string, container spec.Container, processes string) error {
	c := config{
		Version:  version,
		Hostname: p.hostname(),
		Process:  processOf(container),
		Root:     root{Path: filepath.Join(dir, "rootfs"), ReadOnly: container.ReadOnlyRootFS},
		Mounts:   []mount{cgroups, {Target: "/dev/shm", Type: "tmpfs", Source: source(spec.SharedMemory), Options: []string{"rw", "nosuid", "nodev"}}},
		Linux:    linux{Namespaces: p.namespaces(processes)},
		Annotations: map[string]string{
			kindAnnotation: "container", sandboxAnnotation: p.Sandbox,
			rootAnnotation + "overlay": "memory",
		},
	}
	fs := container.RootFS
	if fs.Image != "" {
		c.Annotations[rootAnnotation+"source"], c.Annotations[rootAnnotation+"type"] = fs.Image, "erofs"
	} else {
		c.Root.Path = fs.Folder
		c.Annotations[rootAnnotation+"source"], c.Annotations[rootAnnotation+"type"] = fs.Folder, "bind"
	}
	if fs.Writable > 0 {
		c.Annotations[rootAnnotation+"options"] = "size=" + strconv.FormatInt(fs.Writable, 10)
	}
	if p.DNSFile != "" {
		c.Mounts = append(c.Mounts, mount{Target: "/etc/resolv.conf", Type: "bind", Source: p.DNSFile, Options: []string{"bind", "ro"}})
	}
	for _, m := range container.Mounts {
		converted, err := p.mount(m)
		if err != nil {
			return fmt.Errorf("mount at %q: %w", m.Target, err)
		}
		c.Mounts = slices.DeleteFunc(c.Mounts, func(other mount) bool { return other.Target == m.Target })
		c.Mounts = append(c.Mounts, converted)
	}
	return c.write(dir)
}

// cgroups makes gVisor account memory, processor time and processes for each container. A container can only read it.
var cgroups = mount{Target: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"ro"}}

func (p Pod) hostname() string {
	if p.Hostname != "" {
		return p.Hostname
	}
	return p.ID
}

// namespaces returns the namespaces of a container. Without a PID namespace a container joins that of the pause process. gVisor
// compares the paths of PID namespaces and opens none of them.
func (p Pod) namespaces(processes string) []namespace {
	namespaces := []namespace{{Type: "network", Path: p.Network}}
	if !p.ShareProcesses {
		pid := namespace{Type: "pid"}
		if processes != "" {
			pid.Path = "/strata-processes/" + processes
		}
		namespaces = append(namespaces, pid)
	}
	return namespaces
}

// memory returns the pod's memory file systems, including the one for /dev/shm.
func (p Pod) memory() []spec.Memory {
	if slices.ContainsFunc(p.Memory, func(m spec.Memory) bool { return m.Name == spec.SharedMemory }) {
		return p.Memory
	}
	return append(slices.Clone(p.Memory), spec.Memory{Name: spec.SharedMemory})
}

// source returns the source by which gVisor recognises a memory file system of the pod. It is no path of the machine.
func source(name string) string { return "/strata-memory/" + name }

func size(bytes int64) []string {
	if bytes == 0 {
		return nil
	}
	return []string{"size=" + strconv.FormatInt(bytes, 10)}
}

// mount returns a mount in the form of the OCI runtime specification. Sources on this machine must be folders or regular files:
// a device or a socket would give the container access to more than the file.
func (p Pod) mount(m spec.Mount) (mount, error) {
	access := "rw"
	if m.ReadOnly {
		access = "ro"
	}
	switch m.Kind {
	case spec.Tmpfs:
		mode := uint64(m.Mode)
		if mode == 0 {
			mode = 0o1777
		}
		return mount{Target: m.Target, Type: "tmpfs", Source: "tmpfs",
			Options: append([]string{access, "nosuid", "nodev", "mode=" + strconv.FormatUint(mode, 8)}, size(m.Size)...)}, nil
	case spec.Shared:
		if !slices.ContainsFunc(p.memory(), func(known spec.Memory) bool { return known.Name == m.Source }) {
			return mount{}, fmt.Errorf("the pod has no memory file system %q", m.Source)
		}
		return mount{Target: m.Target, Type: "tmpfs", Source: source(m.Source), Options: []string{access, "nosuid", "nodev"}}, nil
	}
	info, err := os.Lstat(m.Source)
	if err != nil {
		return mount{}, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return mount{}, fmt.Errorf("%s is neither a folder nor a regular file", m.Source)
	}
	return mount{Target: m.Target, Type: "bind", Source: m.Source, Options: append([]string{"bind", access}, m.Options...)}, nil
}

func processOf(c spec.Container) process {
	p := process{
		Terminal: c.Terminal, User: user{UID: c.UID, GID: c.GID, Groups: c.Groups}, Args: c.Args, Env: append([]string{}, c.Env...),
		Cwd: c.Cwd, NoNewPrivileges: c.NoNewPrivileges, Capabilities: effective(c.Capabilities, c.UID),
	}
	if p.Cwd == "" {
		p.Cwd = "/"
	}
	if n := c.Limits.OpenFiles; n > 0 {
		p.Rlimits = append(p.Rlimits, rlimit{Type: "RLIMIT_NOFILE", Hard: n, Soft: n})
	}
	return p
}

// effective returns the capability sets of a process. A process of another user than root has them in its bounding set only.
func effective(names []string, uid uint32) capabilities {
	names = append([]string{}, names...)
	if uid != 0 {
		return capabilities{Bounding: names, Effective: []string{}, Permitted: []string{}}
	}
	return capabilities{Bounding: names, Effective: names, Permitted: names}
}

func (c config) write(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "rootfs"), 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600)
}

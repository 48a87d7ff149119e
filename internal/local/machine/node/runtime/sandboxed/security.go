package sandboxed

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// defaultCapabilities are the capabilities of a container that asks for none, as in containerd.
var defaultCapabilities = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD", "CAP_NET_BIND_SERVICE",
	"CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// otherCapabilities are the capabilities that privileged containers have besides. They count in the sandbox only.
var otherCapabilities = []string{
	"CAP_DAC_READ_SEARCH", "CAP_IPC_LOCK", "CAP_IPC_OWNER", "CAP_LEASE", "CAP_LINUX_IMMUTABLE", "CAP_NET_ADMIN", "CAP_NET_BROADCAST",
	"CAP_SYSLOG", "CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_PACCT", "CAP_SYS_PTRACE", "CAP_SYS_RESOURCE", "CAP_SYS_TIME",
	"CAP_SYS_TTY_CONFIG",
}

// identityOf returns the user, the groups and the rights of a container's processes. The container's security context
// overrides the pod's, which overrides the image's user.
func identityOf(c runtime.Container, found images.Image) (spec.Process, error) {
	context, inPod := c.Spec.SecurityContext, c.Object.Spec.SecurityContext
	if context == nil {
		context = &corev1.SecurityContext{}
	}
	if inPod == nil {
		inPod = &corev1.PodSecurityContext{}
	}
	user := found.Config.User
	if id := first(context.RunAsUser, inPod.RunAsUser); id != nil {
		user = fmt.Sprint(*id)
	}
	resolved, err := found.User(user)
	if err != nil {
		return spec.Process{}, err
	}
	p := spec.Process{UID: resolved.UID, GID: resolved.GID, Groups: slices.Clone(resolved.Groups)}
	if id := first(context.RunAsGroup, inPod.RunAsGroup); id != nil {
		p.GID = uint32(*id)
	}
	if must := first(context.RunAsNonRoot, inPod.RunAsNonRoot); must != nil && *must && p.UID == 0 {
		return p, errors.New("container has runAsNonRoot and image will run as root: set runAsUser, or use another image")
	}
	for _, id := range inPod.SupplementalGroups {
		p.Groups = append(p.Groups, uint32(id))
	}
	if id := inPod.FSGroup; id != nil {
		p.Groups = append(p.Groups, uint32(*id))
	}
	p.NoNewPrivileges = context.AllowPrivilegeEscalation != nil && !*context.AllowPrivilegeEscalation
	p.Capabilities = capabilities(context)
	return p, nil
}

// first returns the first pointer that is not nil.
func first[T any](list ...*T) *T {
	for _, p := range list {
		if p != nil {
			return p
		}
	}
	return nil
}

// capabilities returns the capabilities of a container.
func capabilities(context *corev1.SecurityContext) []string {
	set := slices.Clone(defaultCapabilities)
	if context.Privileged != nil && *context.Privileged {
		return append(set, otherCapabilities...)
	}
	if context.Capabilities == nil {
		return set
	}
	all := func(list []corev1.Capability) bool { return slices.Contains(list, "ALL") }
	if all(context.Capabilities.Drop) {
		set = nil
	}
	if all(context.Capabilities.Add) {
		set = slices.Concat(defaultCapabilities, otherCapabilities)
	}
	for _, drop := range context.Capabilities.Drop {
		set = slices.DeleteFunc(set, func(have string) bool { return have == capabilityName(drop) })
	}
	for _, add := range context.Capabilities.Add {
		if name := capabilityName(add); add != "ALL" && !slices.Contains(set, name) {
			set = append(set, name)
		}
	}
	return set
}

// capabilityName returns the kernel's name of a capability, which Kubernetes writes without the prefix.
func capabilityName(c corev1.Capability) string {
	return "CAP_" + strings.TrimPrefix(strings.ToUpper(string(c)), "CAP_")
}

// These limits keep one container from using up the machine.
const (
	maxProcesses = 4096
	maxOpenFiles = 65536
)

// limitsOf returns the limits of a container.
func limitsOf(c *corev1.Container) spec.Limits {
	return spec.Limits{Memory: c.Resources.Limits.Memory().Value(), Processes: maxProcesses, OpenFiles: maxOpenFiles}
}

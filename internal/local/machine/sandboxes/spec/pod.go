// Package spec describes pods, containers and commands in them, and validates the descriptions.
package spec

import (
	"net/netip"
	"time"
)

// Pod describes a pod: one sandbox with a network interface, which its containers share.
type Pod struct {
	// ID names the pod among the pods of a host, for example the UID of a Kubernetes pod. It has at most 63 letters, digits, `.`,
	// `_` and `-`, and begins with a letter or a digit.
	ID string

	// Hostname is the host name that the containers see. Empty means the ID.
	Hostname string

	// DNS is the content of /etc/resolv.conf of each container. Empty leaves the file of the image.
	DNS string

	// Network configures the pod's network interface.
	Network Network

	// ShareProcesses gives the containers one PID namespace, whose first process is the pod's pause process.
	ShareProcesses bool

	// Sysctls lists kernel parameters. Only those in [Sysctls] are accepted, because gVisor ignores the others.
	Sysctls map[string]string

	// Memory lists the memory file systems that containers share. They live until the pod ends. Every pod has one more for
	// /dev/shm, with the name "shm", which this list may describe.
	Memory []Memory

	// Annotations are gVisor's hints for mounts, which gVisor reads when the pod starts. A key begins with
	// "dev.gvisor.spec.mount.".
	Annotations map[string]string
}

// Network configures the network interface eth0 of a pod. The zero value gives the pod a loopback interface only.
type Network struct {
	// Address is the pod's IPv4 address and the length of its network's prefix.
	Address netip.Prefix

	// Gateway is the IPv4 address of the default route. It must lie in the network of Address. The zero value sets no route.
	Gateway netip.Addr

	// MAC is the hardware address, as net.ParseMAC reads it. Empty lets the kernel choose one.
	MAC string

	// MTU is the largest packet in bytes, without the Ethernet header. Zero means 1500.
	MTU int
}

// Memory is a memory file system that the containers of a pod may share.
type Memory struct {
	// Name is what [Mount.Source] refers to. It consists of at most 63 lower-case letters, digits and `-`.
	Name string

	// Size is the maximum size in bytes. Zero means gVisor's default, half of the machine's memory.
	Size int64
}

// SharedMemory is the name of the memory file system that each container has at /dev/shm.
const SharedMemory = "shm"

// Sysctls maps each accepted kernel parameter to the value that gVisor's network stack has in any case, or to an empty string if
// a pod may choose the value.
var Sysctls = map[string]string{
	"fs.nr_open":                          "",
	"net.ipv4.ip_unprivileged_port_start": "0",
}

// Stats are the resources that a pod uses now.
type Stats struct {
	// Memory is the memory of all containers together, in bytes, as the kernel accounts it. The memory of gVisor itself is not
	// included.
	Memory int64

	// Containers maps the ID of each container to its part.
	Containers map[string]ContainerStats
}

// ContainerStats are the resources that a container uses now.
type ContainerStats struct {
	// CPU is the processor time since the start.
	CPU time.Duration

	// Memory is in bytes, as gVisor accounts it. It includes mapped files, which the pod's total does not.
	Memory int64

	// Processes is the number of processes and threads.
	Processes int
}

// Package link creates the network namespaces of pods: each contains a pair of virtual Ethernet devices. gVisor
// takes one device, and the gateway the other.
package link

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// The names of the devices. gVisor copies the name of the pod's device.
const (
	podDevice     = "eth0"
	gatewayDevice = "gateway"
)

// defaultMTU is Ethernet's.
const defaultMTU = 1500

// packetBuffer is the size, in bytes, of each buffer of a packet socket, as at gVisor's end of the pair.
const packetBuffer = 4 << 20

// Namespace is the network namespace of a pod.
type Namespace struct {
	// File refers to the namespace and keeps it alive. The caller closes it.
	File *os.File

	// Gateway is a packet socket (packet(7), SOCK_RAW) on the gateway's device. It sends and receives Ethernet frames. Nil for a
	// pod without a network. The caller closes it.
	Gateway *os.File
}

// New creates a network namespace with a loopback interface and, unless network is zero, the pair of devices. The calling
// process needs CAP_NET_ADMIN and CAP_SYS_ADMIN in its user namespace.
func New(network spec.Network) (Namespace, error) {
	var ns Namespace
	result := make(chan error, 1)
	go func() {
		// The thread cannot leave the namespace, so it ends with the goroutine: the goroutine never unlocks the thread.
		runtime.LockOSThread()
		result <- ns.create(network)
	}()
	if err := <-result; err != nil {
		ns.Close()
		return Namespace{}, fmt.Errorf("create a network namespace: %w", err)
	}
	return ns, nil
}

// Close closes the files.
func (ns *Namespace) Close() {
	for _, file := range []*os.File{ns.File, ns.Gateway} {
		if file != nil {
			file.Close()
		}
	}
}

// create moves the calling thread into a new network namespace, and creates the devices there. Without a network, the namespace has
// only a loopback device.
func (ns *Namespace) create(network spec.Network) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	var err error
	if ns.File, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		return err
	}
	if err := withoutIPv6(); err != nil {
		return err
	}
	s, err := newSettings()
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.raise("lo"); err != nil {
		return err
	}
	if network == (spec.Network{}) {
		return nil
	}
	if err := addPair(gatewayDevice, podDevice); err != nil {
		return fmt.Errorf("add the devices: %w", err)
	}
	if err := s.configure(network); err != nil {
		return err
	}
	ns.Gateway, err = packetSocket(gatewayDevice)
	return err
}

// configure sets up both devices.
func (s settings) configure(network spec.Network) error {
	mtu := network.MTU
	if mtu == 0 {
		mtu = defaultMTU
	}
	if network.MAC != "" {
		mac, err := net.ParseMAC(network.MAC)
		if err != nil {
			return err
		}
		if err := s.setMAC(podDevice, mac); err != nil {
			return err
		}
	}
	for _, device := range []string{gatewayDevice, podDevice} {
		if err := s.setMTU(device, mtu); err != nil {
			return err
		}
		if err := s.raise(device); err != nil {
			return err
		}
	}
	if err := s.setAddress(podDevice, network.Address); err != nil {
		return err
	}
	if network.Gateway.IsValid() {
		return s.setRoute(podDevice, network.Gateway)
	}
	return nil
}

// withoutIPv6 keeps the kernel from giving the devices IPv6 addresses and from sending packets about them.
func withoutIPv6() error {
	for _, set := range []string{"all", "default"} {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/"+set+"/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("turn off IPv6: %w", err)
		}
	}
	return nil
}

// packetSocket opens a packet socket on a device.
func packetSocket(device string) (*os.File, error) {
	iface, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), device)
	// The kernel drops the packets that exceed these buffers. The default size holds three packets of the largest MTU, so a
	// fast pod would have to repeat packets. The kernel reduces the size to net.core.rmem_max and wmem_max (socket(7)).
	for _, option := range []int{unix.SO_RCVBUF, unix.SO_SNDBUF} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, packetBuffer); err != nil {
			file.Close()
			return nil, fmt.Errorf("set the buffers of a packet socket: %w", err)
		}
	}
	const all = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL<<8&0xff00 // in network byte order
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: iface.Index}); err != nil {
		file.Close()
		return nil, fmt.Errorf("bind a packet socket: %w", err)
	}
	return file, nil
}

// address4 returns an IPv4 address as four bytes.
func address4(address netip.Addr) []byte {
	b := address.As4()
	return b[:]
}

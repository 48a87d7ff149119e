package link

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// settings changes the devices of the calling thread's network namespace (netdevice(7)). It makes the calls itself, because the
// program ip may be missing on the machine.
type settings struct{ fd int }

func newSettings() (settings, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return settings{}, fmt.Errorf("open a socket: %w", err)
	}
	return settings{fd}, nil
}

func (s settings) close() { unix.Close(s.fd) }

func (s settings) raise(device string) error {
	request, err := unix.NewIfreq(device)
	if err == nil {
		request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(s.fd, unix.SIOCSIFFLAGS, request)
	}
	if err != nil {
		return fmt.Errorf("bring up %s: %w", device, err)
	}
	return nil
}

func (s settings) setMTU(device string, mtu int) error {
	request, err := unix.NewIfreq(device)
	if err == nil {
		request.SetUint32(uint32(mtu))
		err = unix.IoctlIfreq(s.fd, unix.SIOCSIFMTU, request)
	}
	if err != nil {
		return fmt.Errorf("set the MTU of %s to %d: %w", device, mtu, err)
	}
	return nil
}

func (s settings) setAddress(device string, address netip.Prefix) error {
	request, err := unix.NewIfreq(device)
	if err == nil {
		err = request.SetInet4Addr(address4(address.Addr()))
	}
	if err == nil {
		err = unix.IoctlIfreq(s.fd, unix.SIOCSIFADDR, request)
	}
	if err == nil {
		err = request.SetInet4Addr(net.CIDRMask(address.Bits(), 32))
	}
	if err == nil {
		err = unix.IoctlIfreq(s.fd, unix.SIOCSIFNETMASK, request)
	}
	if err != nil {
		return fmt.Errorf("set the address of %s to %s: %w", device, address, err)
	}
	return nil
}

// hardware is a struct ifreq with a hardware address, which unix.Ifreq does not support.
type hardware struct {
	name    [unix.IFNAMSIZ]byte
	family  uint16
	address [14]byte
	_       [8]byte
}

func (s settings) setMAC(device string, mac net.HardwareAddr) error {
	request := hardware{family: unix.ARPHRD_ETHER}
	copy(request.name[:], device)
	copy(request.address[:], mac)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), unix.SIOCSIFHWADDR, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return fmt.Errorf("set the hardware address of %s to %s: %w", device, mac, errno)
	}
	return nil
}

// setRoute adds the default route. The message is RTM_NEWROUTE (rtnetlink(7)).
func (s settings) setRoute(device string, gateway netip.Addr) error {
	iface, err := net.InterfaceByName(device)
	if err != nil {
		return err
	}
	message := []byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST, 0, 0, 0, 0}
	message = attribute(message, unix.RTA_GATEWAY, address4(gateway))
	message = attribute(message, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(iface.Index)))
	if err := request(unix.RTM_NEWROUTE, message); err != nil {
		return fmt.Errorf("add a route through %s: %w", gateway, err)
	}
	return nil
}

// addPair creates two connected virtual Ethernet devices. The message is RTM_NEWLINK (rtnetlink(7)) with the kind veth (veth(4)).
func addPair(name, peer string) error {
	message := make([]byte, unix.SizeofIfInfomsg)
	message = attribute(message, unix.IFLA_IFNAME, append([]byte(name), 0))
	other := attribute(make([]byte, unix.SizeofIfInfomsg), unix.IFLA_IFNAME, append([]byte(peer), 0))
	const vethInfoPeer = 1 // VETH_INFO_PEER of linux/veth.h
	info := attribute(nil, unix.IFLA_INFO_KIND, []byte("veth"))
	info = attribute(info, unix.IFLA_INFO_DATA, attribute(nil, vethInfoPeer, other))
	return request(unix.RTM_NEWLINK, attribute(message, unix.IFLA_LINKINFO, info))
}

// attribute appends a netlink attribute, which begins at a multiple of four bytes.
func attribute(to []byte, kind uint16, value []byte) []byte {
	to = binary.NativeEndian.AppendUint16(to, uint16(unix.SizeofNlAttr+len(value)))
	to = binary.NativeEndian.AppendUint16(to, kind)
	to = append(to, value...)
	for len(to)%unix.NLA_ALIGNTO != 0 {
		to = append(to, 0)
	}
	return to
}

// request sends a netlink request that creates something, and waits for its acknowledgement (netlink(7)).
func request(kind uint16, message []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	data := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(message)))
	data = binary.NativeEndian.AppendUint16(data, kind)
	data = binary.NativeEndian.AppendUint16(data, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	data = append(data, make([]byte, 8)...) // sequence number and sender, which the kernel only repeats
	data = append(data, message...)
	if err := unix.Sendto(fd, data, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("the kernel answers %d bytes instead of an acknowledgement", n)
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

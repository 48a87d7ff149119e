package network

import (
	"encoding/binary"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// createLink creates a veth pair in the process's network namespace, gives the pod's end its addresses and a default route,
// and returns a packet socket on the gateway's end (rtnetlink(7), packet(7)).
func createLink() (int, error) {
	peer := append(message(0, 0, 0), attribute(unix.IFLA_IFNAME, []byte("gw0\x00"))...)
	peer = append(peer, attribute(unix.IFLA_MTU, number(MTU))...)
	const vethPeer = 1 // VETH_INFO_PEER of linux/veth.h
	info := append(attribute(unix.IFLA_INFO_KIND, []byte("veth")), attribute(unix.IFLA_INFO_DATA, attribute(vethPeer, peer))...)
	create := append(message(0, 0, 0), attribute(unix.IFLA_IFNAME, []byte("pod0\x00"))...)
	create = append(create, attribute(unix.IFLA_MTU, number(MTU))...)
	create = append(create, attribute(unix.IFLA_ADDRESS, mac(2))...)
	create = append(create, attribute(unix.IFLA_LINKINFO, info)...)
	if err := netlink(unix.RTM_NEWLINK, create); err != nil {
		return 0, fmt.Errorf("create a veth pair: %w", err)
	}
	var index [2]int
	for i, name := range []string{"pod0", "gw0"} {
		found, err := net.InterfaceByName(name)
		if err != nil {
			return 0, err
		}
		index[i] = found.Index
		if err := netlink(unix.RTM_NEWLINK, message(found.Index, unix.IFF_UP, unix.IFF_UP)); err != nil {
			return 0, fmt.Errorf("start %s: %w", name, err)
		}
	}
	own := ip(2).As4()
	addressed := append([]byte{unix.AF_INET, 32, 0, unix.RT_SCOPE_UNIVERSE}, number(index[0])...)
	addressed = append(addressed, attribute(unix.IFA_LOCAL, own[:])...)
	if err := netlink(unix.RTM_NEWADDR, append(addressed, attribute(unix.IFA_ADDRESS, own[:])...)); err != nil {
		return 0, fmt.Errorf("set the pod's address: %w", err)
	}
	route := append([]byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_LINK, unix.RTN_UNICAST}, number(0)...)
	if err := netlink(unix.RTM_NEWROUTE, append(route, attribute(unix.RTA_OIF, number(index[0]))...)); err != nil {
		return 0, fmt.Errorf("set the pod's route: %w", err)
	}
	const all = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // in network byte order
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("create a packet socket: %w", err)
	}
	return socket, unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: all & 0xffff, Ifindex: index[1]})
}

// message returns a struct ifinfomsg.
func message(index int, flags, change uint32) []byte {
	m := append([]byte{unix.AF_UNSPEC, 0, 0, 0}, number(index)...)
	return binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(m, flags), change)
}

func number(n int) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }

// attribute returns a struct rtattr with its data and padding.
func attribute(kind uint16, data []byte) []byte {
	a := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(data)))
	a = append(binary.NativeEndian.AppendUint16(a, kind), data...)
	for len(a)%unix.RTA_ALIGNTO != 0 {
		a = append(a, 0)
	}
	return a
}

// netlink sends a request that creates or changes an object, and returns the kernel's answer.
func netlink(kind uint16, body []byte) error {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	request = binary.NativeEndian.AppendUint16(request, kind)
	request = binary.NativeEndian.AppendUint16(request, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	request = append(append(request, make([]byte, 8)...), body...)
	if err := unix.Sendto(socket, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(socket, reply, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 {
		return fmt.Errorf("netlink answers with %d bytes", n)
	}
	if code := int32(binary.NativeEndian.Uint32(reply[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

//go:build !linux

package node

import "net"

// checkPeer lets everybody in where the system does not tell who connects.
func checkPeer(net.Conn) error { return nil }

//go:build !linux

package tunnel

import "net"

// checkPeer accepts every connection: here no pod has an address, so the tunnel leads only to the node's API, which asks
// for a certificate.
func checkPeer(net.Conn, int) error { return nil }
